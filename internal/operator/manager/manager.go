// Package manager runs an operator: its caches, webhook, Lease, probes and metrics. It knows
// no kind, so that every operator of this project is made of it.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/operator/await"
	"github.com/critical-service/operator/internal/operator/crdcache"
	"github.com/critical-service/operator/internal/operator/lease"
	"github.com/critical-service/operator/internal/operator/olm"
	"github.com/critical-service/operator/internal/operator/setting"
	"github.com/critical-service/operator/internal/operator/storageversion"
	"github.com/critical-service/operator/internal/operator/webhook"
	"github.com/critical-service/operator/internal/version"
)

// Lease times: a replica that is lost is replaced by another one after 6 to 8 s, one
// that is stopped within 2 s; one whose container is restarted takes its own lease
// at once. The library's 15/10/2 s suit controllers that are not on the way of a
// failover.
const (
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = 1 * time.Second
	stopWithin    = 5 * time.Second
)

// Operator is what an operator has of its own. Its permissions for what the manager does
// are its own too, since they name objects: see internal/operator/permissions.go.
type Operator struct {
	// Name is that of its Lease. It begins the user agent, and with underscores the names of
	// the metrics of the process.
	Name string
	// Settings are all that it has, as they are logged.
	Settings any
	// Scheme knows every kind that is read or written.
	Scheme func() (*runtime.Scheme, error)
	// Cache narrows the caches. The operator is ready when they are filled.
	Cache cache.Options
	// Webhook says what the webhook is for; where it is, the settings say.
	Webhook webhook.Options
	// Setup adds what the manager runs, and to its webhook server what that serves.
	Setup func(ctx context.Context, mgr ctrl.Manager) error
}

// Run runs an operator with the cluster of the current kubeconfig, or the one
// it runs in, until the context ends.
func Run(ctx context.Context, s *setting.Manager, operator Operator) error {
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
	config.UserAgent = operator.Name + "/" + version.Version
	if err := await.APIServer(ctx, config); err != nil {
		return err
	}
	mgr, err := newManager(config, s, &operator)
	if err != nil {
		return err
	}
	if err := operator.Setup(ctx, mgr); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version.Version, "commit", version.Commit, "settings", operator.Settings)
	return mgr.Start(ctx)
}

func newManager(config *rest.Config, s *setting.Manager, operator *Operator) (ctrl.Manager, error) {
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, err
	}
	served := operator.Webhook
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
	lock, err := lockOf(config, types.NamespacedName{Namespace: s.OperatorNamespace, Name: operator.Name}, s.PodName, watched)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               operator.Cache,
		NewCache:                            read.NewCache,
		WebhookServer:                       server,
		Metrics:                             measured,
		HealthProbeBindAddress:              s.HealthProbeBindAddress,
		LeaderElection:                      s.LeaderElect,
		LeaderElectionID:                    operator.Name,
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
	if err := registerMetrics(strings.ReplaceAll(operator.Name, "-", "_"), mgr.Elected(), server); err != nil {
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
	return mgr, addProbes(mgr, operator)
}

func addProbes(mgr ctrl.Manager, operator *Operator) error {
	isConverted := among(operator.Webhook.Kind.GroupKind(), mgr.GetScheme())
	// Asking for the webhook server is what adds it to the manager.
	return errors.Join(
		mgr.AddHealthzCheck("ping", healthz.Ping),
		mgr.AddReadyzCheck("webhook", mgr.GetWebhookServer().StartedChecker()),
		mgr.AddReadyzCheck("caches", synced(mgr.GetCache(), operator.Cache.ByObject, isConverted)),
	)
}

// lockOf is the Lease of the replica that acts. Half of the deadline for one request
// leaves time for a second.
func lockOf(config *rest.Config, name types.NamespacedName, pod string, events cluster.Cluster) (*lease.Lock, error) {
	return lease.New(config, lease.Options{
		NamespacedName: name,
		Pod:            pod,
		Timeout:        renewDeadline / 2,
		Events: func(holder string) resourcelock.EventRecorder {
			return events.GetEventRecorderFor(holder) //nolint:staticcheck // The library knows no other recorder yet.
		},
	})
}
