// Package operator makes the manager that runs the controllers.
package operator

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/controllers/responder"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/operator/await"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/lease"
	"github.com/critical-service/operator/internal/operator/olm"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/internal/operator/storageversion"
	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
	"github.com/critical-service/operator/internal/version"
)

// Lease times: a replica that is lost is replaced by another one after 6 to 8 s, one
// that is stopped within 2 s; one whose container is restarted takes its own lease
// at once. The library's 15/10/2 s suit controllers that are not on the way of a
// failover.
const (
	leaseName     = "critical-service-operator"
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = 1 * time.Second
	stopWithin    = 5 * time.Second
	// diagnoseAfter leaves the first moment of an outage to the failover.
	diagnoseAfter = time.Second
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-system,resources=leases,resourceNames=critical-service-operator,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=events,verbs=create;patch

// Run runs the operator with the cluster of the current kubeconfig, or the one
// it runs in, until the context ends.
func Run(ctx context.Context, s *settings.Settings) error {
	// Nine tenths of GOMEMLIMIT, which is the limit of the container, in which the kernel
	// counts more than the memory of Go.
	debug.SetMemoryLimit(debug.SetMemoryLimit(-1) / 10 * 9)
	logger := s.Logger()
	ctrl.SetLogger(logger)
	klog.SetLogger(logger) // What client-go says, as when a list is refused.
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS, config.Burst = s.KubeAPIQPS, s.KubeAPIBurst
	config.UserAgent = "critical-service-operator/" + version.Version
	if err := await.APIServer(ctx, config); err != nil {
		return err
	}
	image, err := responderImage(ctx, config, s)
	if err != nil {
		return err
	}
	mgr, err := newManager(ctx, config, s, optionsOf(s, image))
	if err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version.Version, "commit", version.Commit, "settings", s)
	return mgr.Start(ctx)
}

// optionsOf are the settings as the controllers want them.
func optionsOf(s *settings.Settings, image string) controllers.Options {
	options := controllers.Options{
		CriticalService: criticalservice.Options{
			Template:          types.NamespacedName{Namespace: s.PodTemplateNamespace, Name: s.PodTemplate},
			OperatorNamespace: s.OperatorNamespace,
			PodNamePrefix:     s.PodNamePrefix,
			Namespaces:        s.Namespaces,
			NoTenants:         !s.Tenants,
			SelfTestInterval:  s.SelfTestInterval,
			DiagnoseAfter:     diagnoseAfter,
			Registry:          metrics.Registry,
		},
		Responder: responder.Options{
			Image:            image,
			ImagePullSecrets: s.ResponderImagePullSecrets,
			PriorityClass:    s.ResponderPriorityClass,
			Namespaces:       s.Namespaces,
			Registry:         metrics.Registry,
		},
	}
	if image == "" {
		options.CriticalService.NoResponder = imageUnknown
	}
	return options
}

func newManager(ctx context.Context, config *rest.Config, s *settings.Settings, options controllers.Options) (ctrl.Manager, error) {
	scheme, err := controllers.Scheme()
	if err != nil {
		return nil, err
	}
	served := policy.Options
	served.Port, served.CertDir, served.URL, served.Namespace = s.WebhookPort, s.WebhookCertDir, s.WebhookURL, s.OperatorNamespace
	watched, err := crdcache.New(config, served.Kind, served.Service, served.SecretKey())
	if err != nil {
		return nil, err
	}
	server, err := webhook.NewServer(watched, served)
	if err != nil {
		return nil, err
	}
	measured, err := metricsOptions(s)
	if err != nil {
		return nil, err
	}
	lock, err := lockOf(config, s, watched)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               controllers.CacheOptions(options),
		NewCache:                            read.NewCache,
		WebhookServer:                       server,
		Metrics:                             measured,
		HealthProbeBindAddress:              s.HealthProbeBindAddress,
		LeaderElection:                      s.LeaderElect,
		LeaderElectionID:                    leaseName,
		LeaderElectionResourceLockInterface: lock,
		LeaderElectionReleaseOnCancel:       true,
		LeaseDuration:                       new(leaseDuration),
		RenewDeadline:                       new(renewDeadline),
		RetryPeriod:                         new(retryPeriod),
		GracefulShutdownTimeout:             new(stopWithin),
		Controller:                          ctrlconfig.Controller{CacheSyncTimeout: crdcache.NoTimeout},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := registerMetrics(mgr, server); err != nil {
		return nil, err
	}
	condition := types.NamespacedName{Namespace: s.OperatorNamespace, Name: os.Getenv(olm.Variable)}
	announce, err := olm.Setup(mgr, watched, served.Kind, condition)
	if err != nil {
		return nil, err
	}
	if err := storageversion.Setup(mgr, watched, served.Kind, announce); err != nil {
		return nil, err
	}
	return mgr, setup(ctx, mgr, options)
}

// lockOf is the Lease of the replica that acts. Half of the deadline for one request
// leaves time for a second.
func lockOf(config *rest.Config, s *settings.Settings, events cluster.Cluster) (*lease.Lock, error) {
	return lease.New(config, lease.Options{
		NamespacedName: types.NamespacedName{Namespace: s.OperatorNamespace, Name: leaseName},
		Pod:            s.PodName,
		Timeout:        renewDeadline / 2,
		Events: func(holder string) resourcelock.EventRecorder {
			return events.GetEventRecorderFor(holder) //nolint:staticcheck // The library knows no other recorder yet.
		},
	})
}

// setup adds all that the manager runs.
func setup(ctx context.Context, mgr ctrl.Manager, options controllers.Options) error {
	if err := controllers.Setup(ctx, mgr, options); err != nil {
		return err
	}
	conversion, err := policy.Conversion()
	if err != nil {
		return err
	}
	mgr.GetWebhookServer().Register(webhook.Path, conversion)
	if err := policy.ServeValidation(mgr, policy.Settings{
		Namespaces:        options.CriticalService.Namespaces,
		Template:          options.CriticalService.Template,
		OperatorNamespace: options.CriticalService.OperatorNamespace,
	}); err != nil {
		return err
	}
	kinds := controllers.CacheOptions(options).ByObject
	// Asking for the webhook server is what adds it to the manager.
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()),
		mgr.AddReadyzCheck("caches", synced(mgr.GetCache(), kinds)),
	)
}
