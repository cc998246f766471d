package database

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
)

// Reconciler runs one Database per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
}

// Reconcile observes the Database, decides what it needs, and does that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil || snap.Database == nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	done, err := r.apply(ctx, &snap, &plan)
	r.did(ctx, &snap, &done)
	if done.tell(&snap) {
		plan = decide.Decide(snap)
	}
	if err == nil {
		err = r.record(ctx, &snap, &plan)
	}
	if err != nil {
		return fault.Result(err)
	}
	r.report(ctx, &snap, &plan)
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
