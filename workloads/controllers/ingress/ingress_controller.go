package ingress

import (
	"context"

	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

// Reconciler keeps the annotations of one Ingress per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
	places *places
	pace   flowcontrol.RateLimiter
}

// Reconcile observes the Ingress, decides which annotations it is to have, and sets those. One that
// is gone needs none.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	defer r.places.next(req.Namespace)
	ingress, snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil || ingress == nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	if plan.Write {
		if !r.places.take(req.NamespacedName) {
			return ctrl.Result{}, nil
		}
		defer r.places.leave(req.Namespace)
		err = r.apply(ctx, ingress, &plan)
	}
	r.report(ctx, ingress, &plan, err)
	return fault.Result(err)
}
