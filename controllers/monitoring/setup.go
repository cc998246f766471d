package monitoring

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/monitoring/internal/render"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
)

// Options are the settings of this controller.
type Options struct {
	// Off removes what was applied.
	Off bool
	// Namespace is the operator's.
	Namespace string
	// PlainHTTP is true where the operator serves metrics to everyone, without TLS.
	PlainHTTP bool
	// Namespaces are those whose ServiceFallbacks are looked at; empty is all.
	Namespaces []string
	// NoTenants is true where ServiceFallbacks are ignored.
	NoTenants bool
	// Period is the time between two rounds in which nothing else happens.
	Period time.Duration
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

// A team that makes and deletes a ServiceFallback in a loop causes no more rounds than these.
const (
	betweenRounds = 5 * time.Second
	roundsAtOnce  = 10
)

// Setup adds the controller to the manager.
func Setup(mgr ctrl.Manager, options Options) error {
	return setup(mgr, options, rate.Every(betweenRounds))
}

func setup(mgr ctrl.Manager, options Options, often rate.Limit) error {
	wanted, err := render.Objects(render.Options{Namespace: options.Namespace, PlainHTTP: options.PlainHTTP})
	if err != nil {
		return err
	}
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	found, err := clientOf(mgr)
	if err != nil {
		return fmt.Errorf("make the client for monitoring: %w", err)
	}
	writer, err := write.Counted(found, options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("make the client that asks which kinds there are: %w", err)
	}
	r := &Reconciler{
		observer: observer{
			off: options.Off, wanted: wanted, namespaces: options.Namespaces, noTenants: options.NoTenants,
			cached: mgr.GetClient(), live: mgr.GetAPIReader(), found: found, kinds: kinds,
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
		period:  options.Period,
		rounds:  rate.NewLimiter(often, roundsAtOnce),
	}
	controller := ctrl.NewControllerManagedBy(mgr).
		Named("monitoring").
		WatchesRawSource(source.Func(func(_ context.Context, q queue.Requests) error {
			q.Add(reconcile.Request{}) // Also where there is no policy, and something to remove.
			return nil
		})).
		Watches(&criticalv2.CriticalService{}, theOnlyKey, builder.WithPredicates(comesOrGoes)).
		WithOptions(queue.Options(1))
	if !options.NoTenants {
		controller = controller.Watches(&criticalv2.ServiceFallback{}, theOnlyKey, builder.WithPredicates(comesOrGoes))
	}
	if err := controller.Complete(r); err != nil {
		return fmt.Errorf("set up the monitoring controller: %w", err)
	}
	return nil
}

// clientOf is a client of the kinds of monitoring. It has no cache, and knows their resources
// itself: those of the manager would ask the API server for kinds that may not exist, while
// failovers wait for the lock.
func clientOf(mgr ctrl.Manager) (client.Client, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range render.Kinds {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	return client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mapper})
}

// theOnlyKey wakes the controller, whose objects are always looked at together.
var theOnlyKey = handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
	return []reconcile.Request{{}}
})

// comesOrGoes admits no changes: only whether there is a policy matters.
var comesOrGoes = predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
