package protect

import (
	"context"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/protection"
)

// setupCreates adds the controller that makes the slices that do not exist yet. A create
// of one may hang, in an admission webhook or in a quota, while many Services arm: in
// workers of its own it is in the way of no promotion.
func (r *Reconciler) setupCreates(mgr ctrl.Manager) error {
	r.creates = queue.NewWaker(0)
	options := queue.Options(workers)
	options.ReconciliationTimeout = timeout
	return builder.TypedControllerManagedBy[reconcile.Request](mgr).
		Named("standby").
		WatchesRawSource(r.creates).
		WithOptions(options).
		Complete(reconcile.Func(r.create))
}

// askPriority puts slices that ask for a responder before those of its Pods: it grows to the
// size that all who ask need, by rollouts, and each new Pod takes a slice for each Service.
const askPriority = wake.OutagePriority / 2

// priorityOfCreates is how urgent the slices of a plan are that do not exist yet, where the
// Service is not down.
func priorityOfCreates(plan decide.Plan) int {
	asks := func(slice *discoveryv1.EndpointSlice) bool { return isNew(slice) && protection.StandsFor(slice) == "" }
	if slices.ContainsFunc(plan.Publish, asks) {
		return askPriority
	}
	return 0
}

// create observes the Service again, decides again, and makes what is missing. When to
// look again is the business of the controller that protects.
func (r *Reconciler) create(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, plan, err := r.decide(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	before := r.Memory.Refusals.Get(req.NamespacedName)
	done, err := r.apply(ctx, req.NamespacedName, plan, isNew)
	r.reportCreates(ctx, req.NamespacedName, &snap, plan, done)
	if after := r.Memory.Refusals.Get(req.NamespacedName); reasonOf(before) != reasonOf(after) || r.Memory.Judgements.Get(req.NamespacedName) == nil {
		// No watch shows it. Not for another message: each wake is one more try.
		r.Protect.Wake(req.NamespacedName)
	}
	return fault.Result(err)
}

func reasonOf(refusal *decide.Refusal) string {
	if refusal == nil {
		return ""
	}
	return refusal.Reason
}

// reportCreates reports what was made. All else about the Service was, or will be,
// reported by the controller that protects: what this one decided may be old by now.
func (r *Reconciler) reportCreates(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	logPublished(ctx, plan, done)
	if snap.Service == nil || plan.Governor == nil {
		return
	}
	// One event and one activation stand for all slices. A slice that was promoted by a
	// change is reported with that, and what is made as a standby demotes nothing.
	if slices.ContainsFunc(plan.Publish, func(slice *discoveryv1.EndpointSlice) bool { return exists(slice) && protection.IsPromoted(slice) }) {
		done.published = nil
	}
	if a := activation(snap, &plan, &done); a.InOutage {
		r.Metrics.Activated(key, a)
	}
	r.emitPromoted(snap, plan, done)
	r.judged(key, snap, plan, r.Wake.Amended)
}
