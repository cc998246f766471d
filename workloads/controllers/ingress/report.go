package ingress

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

const action = "AnnotateIngress"

// report reports what was written, and what could not be.
func (r *Reconciler) report(ctx context.Context, ingress *networkingv1.Ingress, plan *decide.Plan, err error) {
	log := ctrl.LoggerFrom(ctx)
	if len(plan.Conflicts) > 0 {
		keys := strings.Join(plan.Conflicts, ", ")
		log.Info("another has set annotations to other values, and they are left alone", "keys", keys)
		r.Emit(ingress, nil, corev1.EventTypeWarning, eventConflict, action,
			"Another has set %.500s to other values than this operator would: remove the annotation, or the setting for it", keys)
	}
	switch {
	case fault.IsRefusal(err):
		r.Emit(ingress, nil, corev1.EventTypeWarning, eventDenied, action, "The API server refuses the annotations: %.700s",
			fault.Refusal(err, "Have them allowed: admission policy, permission."))
	case err != nil || !plan.Write:
	case plan.Fallback != "" && plan.Fallback != plan.Before:
		log.Info("Services are on their fallback", "services", plan.Fallback)
		r.Emit(ingress, nil, corev1.EventTypeWarning, eventOnFallback, action, "Services on their fallback: %.900s", plan.Fallback)
	case plan.Fallback == "" && plan.Before != "":
		log.Info("no Service is on its fallback any more")
		r.Emit(ingress, nil, corev1.EventTypeNormal, eventRestored, action, "No Service is on its fallback any more")
	}
}
