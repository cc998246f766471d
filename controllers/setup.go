// Package controllers is the one list of everything that runs.
package controllers

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/controllers/maintenance"
	"github.com/critical-service/operator/controllers/monitoring"
	"github.com/critical-service/operator/controllers/responder"
)

// Options are the settings of every kind.
type Options struct {
	CriticalService criticalservice.Options
	Responder       responder.Options
	Monitoring      monitoring.Options
}

// Scheme knows every kind that a controller reads or writes, and every version
// that is served.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv1.AddToScheme, criticalv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}

// CacheOptions narrow the caches to what the controllers read.
func CacheOptions(options Options) cache.Options {
	byObject := criticalservice.CacheByObject(options.CriticalService)
	maps.Copy(byObject, responder.CacheByObject(options.Responder))
	maps.Copy(byObject, maintenance.CacheByObject(options.CriticalService.Namespaces))
	return cache.Options{ByObject: byObject}
}

// Setup adds every controller to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := criticalservice.Setup(ctx, mgr, options.CriticalService); err != nil {
		return err
	}
	if err := responder.Setup(ctx, mgr, options.Responder); err != nil {
		return err
	}
	if err := maintenance.Setup(mgr, maintenance.Options{Registry: options.Responder.Registry}); err != nil {
		return err
	}
	return monitoring.Setup(mgr, options.Monitoring)
}
