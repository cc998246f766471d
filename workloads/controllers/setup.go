// Package controllers is the one list of everything that the workloads operator runs.
package controllers

import (
	"context"
	"maps"

	"github.com/prometheus/client_golang/prometheus"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/core"
)

// Options are the settings of every kind.
type Options struct {
	// Namespaces are those that the operator looks at; empty is all.
	Namespaces []string
	// Images are those of databases, by type: mongo, mysql and postgres.
	Images map[string]string
	// Registry is where metrics are registered; nil registers none.
	Registry prometheus.Registerer
}

// Scheme knows every kind that a controller reads or writes, and every version that is served.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		criticalv2.AddToScheme, workloadsv1.AddToScheme, workloadsv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}

// CacheOptions narrow the caches to what the controllers read: a line for each kind.
func CacheOptions(Options) cache.Options {
	byObject := map[client.Object]cache.ByObject{}
	maps.Copy(byObject, core.CacheByObject())
	return cache.Options{ByObject: byObject}
}

// Setup adds every controller to the manager: a line for each kind.
func Setup(ctx context.Context, mgr ctrl.Manager, _ Options) error {
	_, err := core.NewPresence(ctx, mgr.GetCache())
	return err
}
