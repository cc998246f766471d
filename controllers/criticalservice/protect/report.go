package protect

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/protection"
)

// report reports what was done, in events on the Service, wakes those who do the rest, and
// remembers what was decided.
func (r *Reconciler) report(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	logPublished(ctx, plan, done)
	ctrl.LoggerFrom(ctx).V(1).Info("decided", "state", plan.State, "reason", plan.Reason, "message", plan.Message, "recheckAfter", plan.RecheckAfter)
	r.Metrics.Activated(key, activation(snap, &plan, &done))
	r.Diagnoses.Follow(key, plan)
	r.Readers.Follow(snap)
	r.remember(key, snap, plan)
	if plan.NeedsProvision() || r.NeedsLookup(key, snap) || snap.Attempt.IsNameTaken() {
		r.Provision.Wake(key)
	}
	if snap.Service == nil {
		return
	}
	r.emitPromoted(snap, plan, done)
	r.emitDemoted(snap, plan, done)
}

func logPublished(ctx context.Context, plan decide.Plan, done outcome) {
	for _, slice := range done.published {
		ctrl.LoggerFrom(ctx).Info("published standby slice", "slice", slice.Name, "endpoints", len(slice.Endpoints), "promoted", protection.IsPromoted(slice), "state", plan.State)
	}
}

// remember stores what was decided, which wakes the status if that has changed, and drops
// all that is known of a Service that is gone or not protected.
func (r *Reconciler) remember(key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan) {
	if snap.Service == nil || plan.Governor == nil {
		// Whom to wake is forgotten as well.
		if r.Wake.Judged(key, snap, &plan) {
			r.Memory.Forget(key)
		}
		return
	}
	r.judged(key, snap, plan, r.Wake.Judged)
}

// judged stores what was decided in one of the ways of Wake. Where the API server has answered a
// write meanwhile, it is decided again with the answer.
func (r *Reconciler) judged(key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, store func(types.NamespacedName, *decide.Snapshot, *decide.Plan) bool) {
	known := *snap
	known.Attempt, known.Refusal = r.Memory.Attempts.Get(key), r.Memory.Refusals.Get(key)
	if known.Attempt != snap.Attempt || known.Refusal != snap.Refusal {
		plan = decide.Decide(known)
	}
	last := r.Memory.Judgements.Get(key)
	store(key, &known, &plan)
	next := r.Memory.Judgements.Get(key)
	if r.SelfTest != nil && next != nil && next.Published && (last == nil || !last.Published) {
		r.SelfTest.Wake(key) // The Service may select its fallback, which no standby slice shows.
	}
}

func (r *Reconciler) emitPromoted(snap *decide.Snapshot, plan decide.Plan, done outcome) {
	if slice := turned(done.published, snap.Standby, true); slice != nil {
		r.Emit(snap.Service, plan.Governor, corev1.EventTypeWarning, eventFallbackPromoted, "PromoteFallback",
			"No ready endpoint: promoted %s fallback of %s %q (Pod %q)",
			slice.Labels[criticalv2.LabelFallbackKind], plan.Governor.PolicyKind().Kind, plan.Governor.GetName(), podOf(slice))
	}
}

func (r *Reconciler) emitDemoted(snap *decide.Snapshot, plan decide.Plan, done outcome) {
	if slice := turned(done.published, snap.Standby, false); slice != nil {
		r.Emit(snap.Service, plan.Governor, corev1.EventTypeNormal, eventFallbackDemoted, "DemoteFallback",
			"The Service has a ready endpoint of its own: demoted the fallback to standby (Pod %q)",
			podOf(slice))
	}
}

// podOf is the first Pod that a slice publishes.
func podOf(slice *discoveryv1.EndpointSlice) string {
	for _, endpoint := range slice.Endpoints {
		if endpoint.TargetRef != nil {
			return endpoint.TargetRef.Name
		}
	}
	return ""
}

// turned finds a slice whose write promoted the standby, or ended that. One event
// stands for all the IP families of a Service.
func turned(written []*discoveryv1.EndpointSlice, before []discoveryv1.EndpointSlice, promoted bool) *discoveryv1.EndpointSlice {
	was := slices.ContainsFunc(before, func(slice discoveryv1.EndpointSlice) bool { return protection.IsPromoted(&slice) })
	i := slices.IndexFunc(written, func(slice *discoveryv1.EndpointSlice) bool {
		return len(slice.Endpoints) > 0 && protection.IsPromoted(slice) == promoted
	})
	if was == promoted || i < 0 {
		return nil
	}
	return written[i]
}

// activation is what a plan did to put a fallback to work, for the metrics.
func activation(snap *decide.Snapshot, plan *decide.Plan, done *outcome) metrics.Activation {
	a := metrics.Activation{InOutage: plan.Governor != nil && plan.OwnReady == 0, Denied: done.denied}
	if slice := turned(done.published, snap.Standby, true); slice != nil {
		a.Promoted = slice.Labels[criticalv2.LabelFallbackKind]
	}
	return a
}
