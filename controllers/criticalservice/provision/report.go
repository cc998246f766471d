package provision

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/protection"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// report reports what was done, in events on the Service, and wakes the controller that
// protects where something was learnt that no watch shows.
func (r *Reconciler) report(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	r.log(ctx, plan, done)
	r.Metrics.Activated(key, activation(&plan, &done))
	if snap.Service == nil {
		return
	}
	r.emit(snap, plan, done)
	if plan.Governor != nil && (r.remember(ctx, key, snap, done) || done.asked) {
		r.Protect.Wake(key)
	}
}

// remember keeps what the observation learnt by asking the API server, and drops what
// is out of date. It reports whether that is something new.
func (r *Reconciler) remember(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, done outcome) bool {
	learnt := false
	if snap.Attempt == nil && !done.asked && r.Memory.Attempts.Get(key) != nil {
		r.Memory.Attempts.Delete(key)
		learnt = true
	}
	known, unknown := r.Memory.Lookups.Get(key), r.unknown(ctx, key)
	isNew := known == nil || !slices.Equal(known.Of, unknown)
	switch {
	case snap.NameConflict != nil:
		learnt = learnt || isNew || known.Conflict == nil || known.Conflict.UID != snap.NameConflict.UID
		r.Memory.Lookups.Set(key, memory.LookupOf(snap.NameConflict, unknown...))
	case len(unknown) > 0:
		learnt = learnt || isNew || known.Conflict != nil
		r.Memory.Lookups.Set(key, memory.Lookup{Of: unknown})
	case known != nil:
		r.Memory.Lookups.Delete(key)
	}
	return learnt
}

// unknown are the Pods of the fallback's name of which the caches alone do not know whose
// they are, so that the API server was asked.
func (r *Reconciler) unknown(ctx context.Context, key types.NamespacedName) []types.UID {
	cached, err := r.ObserveCached(ctx, key)
	if err != nil {
		return nil
	}
	return cached.Unknown()
}

func (r *Reconciler) emit(snap *decide.Snapshot, plan decide.Plan, done outcome) {
	service := snap.Service
	var governor client.Object
	if plan.Governor != nil {
		governor = plan.Governor
	}
	switch {
	case done.created == nil:
	case plan.OwnReady > 0:
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackCreated, "CreateFallback",
			"Created fallback Pod %q as standby (%s %q)", done.created.Name, plan.Governor.PolicyKind().Kind, plan.Governor.GetName())
	default:
		r.Emit(service, governor, corev1.EventTypeWarning, eventFallbackCreated, "CreateFallback",
			"No ready endpoint: created fallback Pod %q (%s %q)", done.created.Name, plan.Governor.PolicyKind().Kind, plan.Governor.GetName())
	}
	for _, pod := range done.rebound {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackRebound, "RebindFallback",
			"Fallback Pod %q follows the Service's selector and %s %q", pod.Name, plan.Governor.PolicyKind().Kind, plan.Governor.GetName())
	}
	for _, removal := range done.released {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackReleased, "ReleaseFallback",
			"Fallback Pod %q left the Service: %s", removal.Pod.Name, whyText[removal.Why])
	}
	for _, removal := range done.deleted {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackRemoved, "RemoveFallback",
			"Removed fallback Pod %q: %s", removal.Pod.Name, whyText[removal.Why])
	}
	if leavesInOutage(snap, plan, done) {
		r.Emit(service, nil, corev1.EventTypeWarning, eventProtectionEnded, "WithdrawFallback",
			"The Service has no ready endpoint of its own, and its fallback was withdrawn: %s", whyEnded(plan))
	}
}

// leavesInOutage reports whether a fallback was withdrawn while nothing else answers,
// because no policy asks for it any more.
func leavesInOutage(snap *decide.Snapshot, plan decide.Plan, done outcome) bool {
	unprotected := plan.Governor == nil || plan.State == criticalv2.StateIgnored
	promoted := false
	for _, slice := range done.unpublished {
		promoted = promoted || protection.IsPromoted(slice)
	}
	return unprotected && (promoted || len(done.deleted) > 0) && len(snap.Slices) > 0 && len(snap.OwnReady()) == 0
}

func whyEnded(plan decide.Plan) string {
	if plan.Governor == nil {
		return "no CriticalService or ServiceFallback matches it any more. Let one match it again if it is still critical."
	}
	return plan.Message
}

var whyText = map[decide.Why]string{
	decide.WhyRecovered:   "the Service has a ready endpoint of its own",
	decide.WhyUnprotected: "the Service is no longer protected",
	decide.WhySurplus:     "another fallback Pod stays",
	decide.WhySuperseded:  "another kind of fallback answers instead",
	decide.WhyRenewed:     "its PodTemplate has changed",
	decide.WhySilent:      "it ceased to answer the self-test, and is replaced",
	decide.WhyFailed:      "it ended and is replaced",
	decide.WhyStuck:       "its node is unresponsive",
	decide.WhyOutdated:    "it did not become ready, and its PodTemplate has changed",
}

func (r *Reconciler) log(ctx context.Context, plan decide.Plan, done outcome) {
	log := ctrl.LoggerFrom(ctx)
	if done.created != nil {
		log.Info("created fallback Pod", "pod", done.created.Name, "state", plan.State, "governor", summary.KeyOf(plan.Governor))
	}
	for _, pod := range done.rebound {
		log.Info("rebound fallback Pod", "pod", pod.Name, "state", plan.State)
	}
	for _, removal := range done.released {
		log.Info("released fallback Pod", "pod", removal.Pod.Name, "why", removal.Why, "state", plan.State)
	}
	for _, removal := range done.deleted {
		log.Info("deleted fallback Pod", "pod", removal.Pod.Name, "why", removal.Why)
	}
	for verb, list := range map[string][]*discoveryv1.EndpointSlice{"retracted": done.retracted, "unpublished": done.unpublished} {
		for _, slice := range list {
			log.Info(verb+" standby slice", "slice", slice.Name, "endpoints", len(slice.Endpoints), "state", plan.State)
		}
	}
}

// activation is what a plan did to put a fallback to work, for the metrics.
func activation(plan *decide.Plan, done *outcome) metrics.Activation {
	a := metrics.Activation{InOutage: plan.Governor != nil && plan.OwnReady == 0, Created: done.created != nil}
	if done.denied {
		a.Denied = criticalv2.FallbackKindPodTemplate
	}
	return a
}
