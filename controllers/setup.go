// Package controllers is the one list of everything that runs.
package controllers

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice"
)

// Options are the settings of every kind.
type Options struct {
	CriticalService criticalservice.Options
}

// Scheme knows every kind that a controller reads or writes.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv1.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}

// CacheOptions narrow the caches to what the controllers read.
func CacheOptions(options Options) cache.Options {
	return cache.Options{ByObject: criticalservice.CacheByObject(options.CriticalService)}
}

// Setup adds every controller to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	return criticalservice.Setup(ctx, mgr, options.CriticalService)
}
