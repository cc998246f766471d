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
	"syscall"
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
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

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

// Lease times: a replica that is lost is replaced by another one after 5.5 to 8.2 s,
// one that is stopped within 1.1 s; one whose container is restarted takes its own lease
// at once. A replica that waits looks every 0.5 to 1.1 s, as client-go spreads that,
// and twice counts: when it sees the last renewal, and when it sees that no other came.
// The library's 15/10/2 s suit controllers that are not on the way of a failover.
const (
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = 500 * time.Millisecond
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
	mgr, held, err := newManager(config, s, &operator)
	if err != nil {
		return err
	}
	if err := operator.Setup(ctx, mgr); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version.Version, "commit", version.Commit, "settings", operator.Settings)
	err = mgr.Start(ctx)
	if ctx.Err() == nil && held.IsLost() {
		ctrl.Log.Info("another replica leads now; starting again in this process, as one that waits")
		return errors.Join(err, startAgain())
	}
	return err
}

// startAgain makes this process a new one of the same program. If it ended, its kubelet
// would restart it, but the second time within ten minutes only after a back-off. A second
// manager beside the first would register caches, webhook and metrics twice.
func startAgain() error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the program of this process: %w", err)
	}
	return syscall.Exec(program, os.Args, os.Environ()) //nolint:gosec // What it was started with.
}

func newManager(config *rest.Config, s *setting.Manager, operator *Operator) (ctrl.Manager, *lease.Lock, error) {
	scheme, err := operator.Scheme()
	if err != nil {
		return nil, nil, err
	}
	served := operator.Webhook
	served.Port, served.CertDir, served.URL, served.Namespace = s.WebhookPort, s.WebhookCertDir, s.WebhookURL, s.OperatorNamespace
	watched, err := crdcache.New(config, served.Kind, served.Service, served.SecretKey())
	if err != nil {
		return nil, nil, err
	}
	server, err := webhook.NewServer(watched, served)
	if err != nil {
		return nil, nil, err
	}
	lock, err := lockOf(config, types.NamespacedName{Namespace: s.OperatorNamespace, Name: operator.Name}, s.PodName, watched)
	if err != nil {
		return nil, nil, err
	}
	config = rest.CopyConfig(config) // What this process writes as no leader is not guarded.
	config.Wrap(lock.Guard)
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                              scheme,
		Cache:                               operator.Cache,
		NewCache:                            read.NewCache,
		WebhookServer:                       server,
		Metrics:                             metricsserver.Options{BindAddress: "0"}, // See metrics.go.
		HealthProbeBindAddress:              "0",                                     // See probes.go.
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
		return nil, nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := registerMetrics(strings.ReplaceAll(operator.Name, "-", "_"), mgr.Elected(), server); err != nil {
		return nil, nil, err
	}
	condition := types.NamespacedName{Namespace: s.OperatorNamespace, Name: os.Getenv(olm.Variable)}
	announce, err := olm.Setup(mgr, watched, served.Kind, condition)
	if err != nil {
		return nil, nil, err
	}
	if err := storageversion.Setup(mgr, watched, served.Kind, announce); err != nil {
		return nil, nil, err
	}
	return mgr, lock, errors.Join(addProbes(mgr, s.HealthProbeBindAddress, operator), addMetrics(mgr, s))
}

// lockOf is the Lease of the replica that acts. Half of the deadline for one request
// leaves time for a second.
func lockOf(config *rest.Config, name types.NamespacedName, pod string, events cluster.Cluster) (*lease.Lock, error) {
	return lease.New(config, lease.Options{
		NamespacedName: name,
		Pod:            pod,
		Timeout:        renewDeadline / 2,
		Term:           leaseDuration,
		Events: func(holder string) resourcelock.EventRecorder {
			return events.GetEventRecorderFor(holder) //nolint:staticcheck // The library knows no other recorder yet.
		},
	})
}
