// Package operator makes the manager that runs the controllers.
package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/critical-service/operator/controllers"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/internal/settings"
	"github.com/critical-service/operator/internal/version"
)

// Lease times: a replica that dies is replaced after 6 to 8 s, one that is told
// to stop within 2 s. The library's 15/10/2 s are meant for controllers that
// nobody waits for.
const (
	leaseDuration = 6 * time.Second
	renewDeadline = 4 * time.Second
	retryPeriod   = 1 * time.Second
	stopWithin    = 5 * time.Second
	// answerWithin is how long one look for the API server may take.
	answerWithin = 5 * time.Second
)

// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-system,resources=leases,verbs=create
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=critical-service-system,resources=leases,resourceNames=critical-service-operator,verbs=get;update
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=events,verbs=create;patch

// Run runs the operator with the cluster of the current kubeconfig, or the one
// it runs in, until the context ends.
func Run(ctx context.Context, s *settings.Settings) error {
	ctrl.SetLogger(s.Logger())
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS, config.Burst = s.KubeAPIQPS, s.KubeAPIBurst
	config.UserAgent = "critical-service-operator/" + version.Version
	if err := awaitAPIServer(ctx, config); err != nil {
		return err
	}
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	options := controllers.Options{CriticalService: criticalservice.Options{
		Template:      types.NamespacedName{Namespace: s.PodTemplateNamespace, Name: s.PodTemplate},
		PodNamePrefix: s.PodNamePrefix,
		Namespaces:    s.Namespaces,
	}}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Cache:                         controllers.CacheOptions(options),
		Metrics:                       metricsserver.Options{BindAddress: s.MetricsBindAddress},
		HealthProbeBindAddress:        s.HealthProbeBindAddress,
		LeaderElection:                s.LeaderElect,
		LeaderElectionID:              "critical-service-operator",
		LeaderElectionNamespace:       s.OperatorNamespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(stopWithin),
	})
	if err != nil {
		return fmt.Errorf("make the manager: %w", err)
	}
	if err := controllers.Setup(ctx, mgr, options); err != nil {
		return err
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", synced(mgr.GetCache()))); err != nil {
		return err
	}
	ctrl.Log.Info("starting", "version", version.Version, "commit", version.Commit, "settings", s)
	return mgr.Start(ctx)
}

// awaitAPIServer waits until the API server answers, be it with a refusal. A
// process that ended each time it does not would be started more and more rarely
// (CrashLoopBackOff), and be late when the API server is back.
func awaitAPIServer(ctx context.Context, config *rest.Config) error {
	config = rest.CopyConfig(config)
	config.Timeout = answerWithin
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	err = wait.PollUntilContextCancel(ctx, retryPeriod, true, func(context.Context) (bool, error) {
		_, err := client.ServerVersion()
		if answer := apierrors.APIStatus(nil); err == nil || errors.As(err, &answer) {
			return true, nil
		}
		ctrl.Log.Info("the API server does not answer, looking again", "server", config.Host, "error", err.Error())
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the API server %s: %w", config.Host, err)
	}
	return nil
}

// synced tells whether the caches hold the cluster, so that a rollout does not
// end the old operator before the new one can act.
func synced(caches cache.Cache) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), time.Second)
		defer cancel()
		if !caches.WaitForCacheSync(ctx) {
			return errors.New("the caches are not synced yet")
		}
		return nil
	}
}
