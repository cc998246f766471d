package etcdinstance

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
)

// Reconciler runs one ETCDInstance per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
}

// Reconcile observes the ETCDInstance, decides what it needs, and does that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil || snap.Instance == nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap.Snapshot)
	done, err := r.apply(ctx, &snap, &plan)
	r.did(ctx, &snap.Snapshot, &done)
	if done.tell(&snap.Snapshot) {
		plan = decide.Decide(snap.Snapshot)
	}
	if err == nil {
		err = r.record(ctx, &snap.Snapshot, &plan)
	}
	if err != nil {
		return fault.Result(err)
	}
	r.report(ctx, &snap.Snapshot, &plan)
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
