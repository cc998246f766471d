package criticalservice

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// report tells what was done, in events on the Service, and wakes the status of
// every CriticalService that matches it.
func (r *ServiceReconciler) report(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	r.log(ctx, plan, done)
	if snap.Service == nil {
		return
	}
	r.announce(snap.Service, plan, done)
	for i := range snap.Policies {
		if policy := &snap.Policies[i]; decide.Matches(policy, snap.Service) {
			r.wake.of(ctx, policy)
		}
	}
}

func (r *ServiceReconciler) announce(service *corev1.Service, plan decide.Plan, done outcome) {
	var governor client.Object
	if plan.Governor != nil {
		governor = plan.Governor
	}
	if done.created != nil {
		r.tell(service, governor, corev1.EventTypeWarning, eventFallbackCreated, "CreateFallback",
			"No ready endpoint: created fallback Pod %q (CriticalService %q)", done.created.Name, plan.Governor.Name)
	}
	for _, pod := range done.rebound {
		r.tell(service, governor, corev1.EventTypeNormal, eventFallbackRebound, "RebindFallback",
			"Fallback Pod %q follows the Service's selector and CriticalService %q", pod.Name, plan.Governor.Name)
	}
	for _, pod := range done.released {
		r.tell(service, governor, corev1.EventTypeNormal, eventFallbackReleased, "ReleaseFallback",
			"The Service has a ready endpoint of its own: fallback Pod %q left it", pod.Name)
	}
	for _, deletion := range done.deleted {
		r.tell(service, governor, corev1.EventTypeNormal, eventFallbackRemoved, "Remove"+string(deletion.Why),
			"Removed fallback Pod %q: %s", deletion.Pod.Name, whyText[deletion.Why])
	}
}

var whyText = map[decide.Why]string{
	decide.WhyRecovered:   "the Service has a ready endpoint of its own",
	decide.WhyUnprotected: "the Service is not to be protected any more",
	decide.WhySurplus:     "another fallback Pod stays",
	decide.WhyFailed:      "it ended and is replaced",
	decide.WhyStuck:       "its node does not say that it has ended",
	decide.WhyOutdated:    "it did not become ready, and its PodTemplate has changed",
}

func (r *ServiceReconciler) log(ctx context.Context, plan decide.Plan, done outcome) {
	log := ctrl.LoggerFrom(ctx)
	if done.created != nil {
		log.Info("created fallback Pod", "pod", done.created.Name, "state", plan.State, "governor", plan.Governor.Name)
	}
	for _, pod := range done.rebound {
		log.Info("rebound fallback Pod", "pod", pod.Name, "state", plan.State)
	}
	for _, pod := range done.released {
		log.Info("released fallback Pod", "pod", pod.Name, "state", plan.State)
	}
	for _, deletion := range done.deleted {
		log.Info("deleted fallback Pod", "pod", deletion.Pod.Name, "why", deletion.Why)
	}
	log.V(1).Info("decided", "state", plan.State, "reason", plan.Reason, "message", plan.Message, "recheckAfter", plan.RecheckAfter)
}

// wakeStatus tells the status controller that a Service of a CriticalService may
// have changed.
type wakeStatus chan event.TypedGenericEvent[*criticalv1.CriticalService]

func (w wakeStatus) of(ctx context.Context, policy *criticalv1.CriticalService) {
	select {
	case w <- event.TypedGenericEvent[*criticalv1.CriticalService]{Object: policy}:
	case <-ctx.Done():
	}
}
