// Package operator runs the workloads operator.
package operator

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/operator/await"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/manager"
	"github.com/critical-service/operator/internal/operator/ownimage"
	"github.com/critical-service/operator/internal/operator/webhook"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/controllers/appconfig"
	"github.com/critical-service/operator/workloads/controllers/database"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance"
	"github.com/critical-service/operator/workloads/controllers/ingress"
	"github.com/critical-service/operator/workloads/controllers/webapp"
	"github.com/critical-service/operator/workloads/internal/conversion"
	"github.com/critical-service/operator/workloads/internal/settings"
)

const (
	// Name is that of the operator: of its Lease, Deployment and ServiceAccount.
	Name = workloadsv1.ManagedBy
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

// The authority of self-made certificates. Who brings certificates leaves this role out, and the next.
// +kubebuilder:rbac:groups="",namespace=critical-service-workloads-system,resources=secrets,verbs=create,roleName=critical-service-workloads-certificates
// +kubebuilder:rbac:groups="",namespace=critical-service-workloads-system,resources=secrets,resourceNames=critical-service-workloads-webhook-ca,verbs=get;list;watch;update,roleName=critical-service-workloads-certificates

// Where the API server finds the webhook, and which authority it trusts.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=appconfigs.mycrd.com,verbs=patch,roleName=critical-service-workloads-certificates

// AppConfigs that are stored in an earlier version are rewritten through their status. Their definition says which there are.
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions,resourceNames=appconfigs.mycrd.com,verbs=get;list;watch
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs,verbs=list
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=apiextensions.k8s.io,resources=customresourcedefinitions/status,resourceNames=appconfigs.mycrd.com,verbs=patch

// Run runs the operator with the cluster of the current kubeconfig, or the one
// it runs in, until the context ends.
func Run(ctx context.Context, s *settings.Settings) error {
	options := optionsOf(s)
	ctrl.SetLogger(s.Logger()) // For the wait until the API server answers, before the manager runs.
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	if options.Ingress.Permitted, err = mayAnnotate(ctx, config, s); err != nil {
		return err
	}
	if options.WebApp.Image, err = ownImage(ctx, config, s); err != nil {
		return err
	}
	options.ETCDInstance.OwnImage = options.WebApp.Image
	return manager.Run(ctx, &s.Manager, manager.Operator{
		Name:     Name,
		Settings: s,
		Scheme:   controllers.Scheme,
		Cache:    controllers.CacheOptions(options),
		Webhook:  Webhook,
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			return errors.Join(setup(ctx, mgr, options), serveAPI(mgr, s))
		},
	})
}

// mayAnnotate asks whether Ingresses may be annotated, until the API server answers: it may start
// after the operator.
func mayAnnotate(ctx context.Context, config *rest.Config, s *settings.Settings) (permitted bool, refused error) {
	err := await.Answer(ctx, config, func() (err error) {
		permitted, err = ingress.IsPermitted(ctx, await.WithTimeout(config), s.Namespaces)
		if fault.IsDecided(err) {
			refused, err = err, nil
		}
		return err
	})
	return permitted, errors.Join(refused, err)
}

// ownImage is that of the meters of WebApps, and of what moves snapshots: the one that is set, or that of the operator's own Pod,
// which has all programs. If neither is known, what needs it says so.
func ownImage(ctx context.Context, config *rest.Config, s *settings.Settings) (string, error) {
	if s.WorkloadsImage != "" {
		return s.WorkloadsImage, nil
	}
	return ownimage.Of(ctx, config, types.NamespacedName{Namespace: s.OperatorNamespace, Name: s.PodName},
		"no WebApp gets a meter, and no ETCDInstance is backed up or restored, unless WORKLOADS_IMAGE is set to the image of the operator")
}

// setup adds all that the manager runs.
func setup(ctx context.Context, mgr ctrl.Manager, options controllers.Options) error {
	if err := controllers.Setup(ctx, mgr, options); err != nil {
		return err
	}
	converter, err := conversion.Handler()
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(webhook.Path, converter)
	return nil
}

// optionsOf are the settings as the controllers want them.
func optionsOf(s *settings.Settings) controllers.Options {
	return controllers.Options{
		AppConfig: appconfig.Options{
			Namespaces: s.Namespaces,
			Registry:   metrics.Registry,
		},
		Database: database.Options{
			ImageMongo:    s.DatabaseImageMongo,
			ImageMySQL:    s.DatabaseImageMySQL,
			ImagePostgres: s.DatabaseImagePostgres,
			Namespaces:    s.Namespaces,
			Registry:      metrics.Registry,
		},
		ETCDInstance: etcdinstance.Options{
			Image:      s.ETCDImage,
			Namespaces: s.Namespaces,
			Registry:   metrics.Registry,
		},
		WebApp: webapp.Options{
			Image:      s.WorkloadsImage,
			Namespaces: s.Namespaces,
			Registry:   metrics.Registry,
		},
		Ingress: ingress.Options{
			Annotations: s.IngressAnnotations,
			Status:      s.IngressStatus,
			Classes:     s.IngressClasses,
			Namespaces:  s.Namespaces,
			Registry:    metrics.Registry,
		},
	}
}
