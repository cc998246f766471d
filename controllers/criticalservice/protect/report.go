package protect

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/protection"
)

// report reports what was done, in events on the Service, and remembers what was decided
// and learnt.
func (r *Reconciler) report(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	r.log(ctx, plan, done)
	r.Metrics.Activated(key, activation(snap, &plan, &done))
	r.Diagnoses.Follow(key, plan)
	r.remember(key, snap, plan, done)
	if snap.Service == nil {
		return
	}
	r.emit(snap, plan, done)
}

// judge stores what was decided, which wakes the status if that has changed. Where the
// API server has answered a write meanwhile, it is decided again with the answer.
func (r *Reconciler) judge(key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan) {
	known := *snap
	known.Attempt, known.Refusal = r.Memory.Attempts.Get(key), r.Memory.Refusals.Get(key)
	if known.Attempt != snap.Attempt || known.Refusal != snap.Refusal {
		plan = decide.Decide(known)
	}
	r.Wake.Judged(key, &known, &plan)
}

// judgeByCache stores what the caches say of a Service about which the API server could
// not be asked: the status of a CriticalService waits for each of its Services.
func (r *Reconciler) judgeByCache(ctx context.Context, key types.NamespacedName) {
	snap, err := r.ObserveCached(ctx, key)
	if err != nil {
		return // The operator stops.
	}
	plan := decide.Decide(snap)
	r.Wake.Judged(key, &snap, &plan)
}

// remember keeps what was decided, and what the observation learnt by asking the API
// server, and drops what is out of date, and all that is known of a Service that is gone
// or not protected.
func (r *Reconciler) remember(key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	if snap.Service == nil || plan.Governor == nil {
		// Whom to wake is forgotten as well.
		if r.Wake.Judged(key, snap, &plan) {
			r.Memory.Forget(key)
		}
		return
	}
	if snap.Attempt == nil && !done.asked {
		r.Memory.Attempts.Delete(key)
	}
	if snap.NameConflict == nil {
		r.Memory.NameConflicts.Delete(key)
	} else {
		r.Memory.NameConflicts.Set(key, corev1.Pod{ObjectMeta: observe.SlimMeta(snap.NameConflict.ObjectMeta)})
	}
	r.judge(key, snap, plan)
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
			"Created fallback Pod %q as standby (CriticalService %q)", done.created.Name, plan.Governor.Name)
	default:
		r.Emit(service, governor, corev1.EventTypeWarning, eventFallbackCreated, "CreateFallback",
			"No ready endpoint: created fallback Pod %q (CriticalService %q)", done.created.Name, plan.Governor.Name)
	}
	if slice := turned(done.published, snap.Standby, true); slice != nil {
		r.Emit(service, governor, corev1.EventTypeWarning, eventFallbackPromoted, "PromoteFallback",
			"No ready endpoint: promoted %s fallback of CriticalService %q (EndpointSlice %q)",
			slice.Labels[criticalv2.LabelFallbackKind], plan.Governor.Name, slice.Name)
	}
	if slice := turned(done.retracted, snap.Standby, false); slice != nil {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackDemoted, "DemoteFallback",
			"The Service has a ready endpoint of its own: demoted the fallback to standby (EndpointSlice %q)", slice.Name)
	}
	for _, pod := range done.rebound {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackRebound, "RebindFallback",
			"Fallback Pod %q follows the Service's selector and CriticalService %q", pod.Name, plan.Governor.Name)
	}
	for _, removal := range done.released {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackReleased, "ReleaseFallback",
			"Fallback Pod %q left the Service: %s", removal.Pod.Name, whyText[removal.Why])
	}
	for _, removal := range done.deleted {
		r.Emit(service, governor, corev1.EventTypeNormal, eventFallbackRemoved, "RemoveFallback",
			"Removed fallback Pod %q: %s", removal.Pod.Name, whyText[removal.Why])
	}
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

var whyText = map[decide.Why]string{
	decide.WhyRecovered:   "the Service has a ready endpoint of its own",
	decide.WhyUnprotected: "the Service is no longer protected",
	decide.WhySurplus:     "another fallback Pod stays",
	decide.WhySuperseded:  "another kind of fallback answers instead",
	decide.WhyRenewed:     "its PodTemplate has changed",
	decide.WhyFailed:      "it ended and is replaced",
	decide.WhyStuck:       "its node is unresponsive",
	decide.WhyOutdated:    "it did not become ready, and its PodTemplate has changed",
}

func (r *Reconciler) log(ctx context.Context, plan decide.Plan, done outcome) {
	log := ctrl.LoggerFrom(ctx)
	if done.created != nil {
		log.Info("created fallback Pod", "pod", done.created.Name, "state", plan.State, "governor", plan.Governor.Name)
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
	for verb, list := range map[string][]*discoveryv1.EndpointSlice{
		"published": done.published, "retracted": done.retracted, "unpublished": done.unpublished,
	} {
		for _, slice := range list {
			log.Info(verb+" standby slice", "slice", slice.Name, "endpoints", len(slice.Endpoints), "promoted", protection.IsPromoted(slice), "state", plan.State)
		}
	}
	log.V(1).Info("decided", "state", plan.State, "reason", plan.Reason, "message", plan.Message, "recheckAfter", plan.RecheckAfter)
}

// activation is what a plan did to put a fallback to work, for the metrics.
func activation(snap *decide.Snapshot, plan *decide.Plan, done *outcome) metrics.Activation {
	a := metrics.Activation{InOutage: plan.Governor != nil && plan.OwnReady == 0, Created: done.created != nil, Denied: done.denied}
	if slice := turned(done.published, snap.Standby, true); slice != nil {
		a.Promoted = slice.Labels[criticalv2.LabelFallbackKind]
	}
	return a
}
