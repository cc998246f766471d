package appconfig

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
)

// Reconciler keeps the ConfigMaps of one AppConfig per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
}

// Reconcile observes the AppConfig, decides what it needs, and does that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil || snap.AppConfig == nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	done, err := r.apply(ctx, &snap, &plan)
	if len(done.held) > 0 {
		snap = decide.Held(snap, done.held)
		plan = decide.Decide(snap)
	}
	if fault.IsRefusal(err) {
		plan, err = decide.Failed(snap, fault.Refusal(err, "Have it allowed: admission policy, permission.")), nil
	}
	if err == nil {
		err = r.record(ctx, &snap, &plan, &done)
	}
	r.report(ctx, &snap, &plan, &done)
	if err != nil {
		return fault.Result(err)
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
