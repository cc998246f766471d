// Package operator runs the workloads operator.
package operator

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/manager"
	"github.com/critical-service/operator/internal/operator/webhook"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/settings"
)

const (
	// Name is that of the operator: of its Lease, Deployment and ServiceAccount.
	Name = "critical-service-workloads"
	// Namespace is where config/ installs it.
	Namespace = settings.DefaultNamespace
)

// Webhook are the options of the webhook, which converts AppConfigs.
var Webhook = webhook.Options{
	Service: Name + "-webhook",
	Kind:    crdcache.Kind{GroupVersionKind: workloadsv2.GroupVersion.WithKind("AppConfig"), Plural: "appconfigs"},
}

// What the manager does for this operator needs these permissions.

// The Lease, and the events of who holds it.
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-workloads-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-workloads-system,resources=leases,resourceNames=critical-service-workloads,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=critical-service-workloads-system,resources=events,verbs=create;patch

// A client that scrapes metrics sends a token, and the API server says whose it is and
// whether that user may.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=tokenreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create

// The authority of self-made certificates.
// +kubebuilder:rbac:groups="",namespace=critical-service-workloads-system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=critical-service-workloads-system,resources=secrets,resourceNames=critical-service-workloads-webhook-ca,verbs=get;list;watch;update

// Where the API server finds the webhook, and which authority it trusts.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=appconfigs.mycrd.com,verbs=get;list;watch;patch

// AppConfigs that are stored in an earlier version are rewritten through their status.
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs,verbs=list
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=appconfigs.mycrd.com,verbs=patch

// Run runs the operator with the cluster of the current kubeconfig, or the one
// it runs in, until the context ends.
func Run(ctx context.Context, s *settings.Settings) error {
	options := optionsOf(s)
	return manager.Run(ctx, &s.Manager, manager.Operator{
		Name:     Name,
		Settings: s,
		Scheme:   controllers.Scheme,
		Cache:    controllers.CacheOptions(options),
		Webhook:  Webhook,
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			return controllers.Setup(ctx, mgr, options)
		},
	})
}

// optionsOf are the settings as the controllers want them.
func optionsOf(s *settings.Settings) controllers.Options {
	return controllers.Options{
		Namespaces: s.Namespaces,
		Images: map[string]string{
			"mongo": s.DatabaseImageMongo, "mysql": s.DatabaseImageMySQL, "postgres": s.DatabaseImagePostgres,
		},
		Registry: metrics.Registry,
	}
}
