package etcdinstance

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

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
	if plan.AddFinalizer {
		// It comes before what it is for; the change of the object brings the next Snapshot.
		return fault.Result(r.finalize(ctx, &snap.Snapshot, controllerutil.AddFinalizer))
	}
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
	if plan.RemoveFinalizer {
		return fault.Result(r.finalize(ctx, &snap.Snapshot, controllerutil.RemoveFinalizer))
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
