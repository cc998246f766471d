// Package controllers is the one list of everything that the workloads operator runs.
package controllers

import (
	"context"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	criticalv2 "github.com/critical-service/operator/api/v2"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig"
	"github.com/critical-service/operator/workloads/controllers/database"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance"
	"github.com/critical-service/operator/workloads/controllers/ingress"
	"github.com/critical-service/operator/workloads/controllers/webapp"
	"github.com/critical-service/operator/workloads/internal/core"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Options are the settings of every kind. Setup itself makes the watch of ServiceFallbacks,
// which all kinds share.
type Options struct {
	AppConfig    appconfig.Options
	Database     database.Options
	ETCDInstance etcdinstance.Options
	Ingress      ingress.Options
	WebApp       webapp.Options
}

// Scheme knows every kind that a controller reads or writes, and every version that is served.
func Scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme,
		criticalv2.AddToScheme, workloadsv1.AddToScheme, workloadsv1alpha1.AddToScheme, workloadsv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}

// CacheOptions narrow the caches to what the controllers read: a line for each kind.
func CacheOptions(options Options) cache.Options {
	byObject := core.CacheByObject()
	maps.Copy(byObject, appconfig.CacheByObject(options.AppConfig))
	maps.Copy(byObject, database.CacheByObject(options.Database))
	maps.Copy(byObject, etcdinstance.CacheByObject(options.ETCDInstance))
	maps.Copy(byObject, ingress.CacheByObject(options.Ingress))
	return cache.Options{ByObject: byObject}
}

// Setup adds every controller to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	presence, err := core.NewPresence(ctx, mgr.GetCache())
	if err != nil {
		return err
	}
	fallbacks, err := fallback.NewWatch(mgr, presence, options.Database.Namespaces)
	if err != nil {
		return err
	}
	options.Database.Fallbacks, options.ETCDInstance.Fallbacks, options.WebApp.Fallbacks = fallbacks, fallbacks, fallbacks
	if err := appconfig.Setup(ctx, mgr, options.AppConfig); err != nil {
		return err
	}
	if err := database.Setup(mgr, options.Database); err != nil {
		return err
	}
	if err := etcdinstance.Setup(mgr, options.ETCDInstance); err != nil {
		return err
	}
	if err := webapp.Setup(ctx, mgr, options.WebApp); err != nil {
		return err
	}
	return ingress.Setup(ctx, mgr, options.Ingress)
}
