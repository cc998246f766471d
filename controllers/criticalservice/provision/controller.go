// Package provision makes, prepares and withdraws fallbacks: Pods, dry runs, and
// standby endpoints that go. Whatever may be slow is done here, in workers of its own,
// so that nothing stands in the way of protect. Its key is the Service.
package provision

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
)

// workers are more than creates that may hang at once, so that those never keep
// withdrawals waiting.
const workers = createsAtOnce + 24

// Reconciler provides for one Service per key.
type Reconciler struct {
	observe.Observer
	events.Emitter
	// Client writes.
	Client  client.Client
	Metrics *metrics.Counters
	// Wake wakes this controller, and Protect the one that protects.
	Wake, Protect *queue.Waker

	creates, dryRuns *places
}

// Setup adds the controller to the manager. It watches nothing: the controller that
// protects wakes it where a plan has work for it.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	r.creates = newPlaces(createsAtOnce, createTimeout, "other creates are under way")
	r.dryRuns = newPlaces(dryRunsAtOnce, dryRunTimeout, "other dry runs are under way")
	return builder.TypedControllerManagedBy[reconcile.Request](mgr).
		Named("provision").
		WatchesRawSource(r.Wake).
		WithOptions(queue.Options(workers)).
		Complete(r)
}

// Reconcile observes the Service, decides what it needs, and does what may be slow.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.Observe(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	done, err := r.apply(ctx, req.NamespacedName, &snap, plan)
	r.report(ctx, req.NamespacedName, &snap, plan, done)
	return fault.Result(err)
}
