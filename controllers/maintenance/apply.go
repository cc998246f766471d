package maintenance

import (
	"context"
	"encoding/json"
	"errors"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/write"
)

// giveBack gives a workload its replicas back, provided that its scale is still as it was
// read: 0. It reports that at once, since an attempt that comes after a failed write of the
// status finds the replicas there. Of a workload that has gone meanwhile the plan is another.
func (r *Reconciler) giveBack(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) error {
	if plan.GiveBack == nil {
		return nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": snap.Workload.Scale.Version},
		"spec":     map[string]any{"replicas": plan.GiveBack.Replicas},
	})
	if err != nil {
		return fault.BugFrom(err)
	}
	err = r.client.SubResource("scale").Patch(ctx, workload(snap.Maintenance.Namespace, plan.GiveBack), client.RawPatch(types.MergePatchType, patch),
		client.WithSubResourceBody(&autoscalingv1.Scale{}))
	if apierrors.IsNotFound(err) {
		snap.Workload.Scale = nil
		*plan = decide.Decide(*snap)
		return nil
	}
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("restored the replicas of a workload", "workload", plan.GiveBack.String(), "replicas", plan.GiveBack.Replicas)
		r.Emit(snap.Maintenance, nil, corev1.EventTypeNormal, eventWorkloadRestored, "RestoreWorkload", "Gave %s its %d replicas back", plan.GiveBack, plan.GiveBack.Replicas)
	}
	return err
}

// record writes what was decided into the object. The finalizer comes before what is owed
// is recorded, and goes after it was given back: an operator that dies between two of the
// writes does the rest when it is back.
func (r *Reconciler) record(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) error {
	m := snap.Maintenance.DeepCopy()
	if plan.Finalizer {
		if err := r.finalize(ctx, m, controllerutil.AddFinalizer); err != nil {
			return err
		}
	}
	if m.DeletionTimestamp == nil {
		updated := m.DeepCopy()
		updated.Status = plan.Status
		if _, err := write.Status(ctx, r.client, m, updated); err != nil {
			return err
		}
		m = updated
	}
	if !plan.Finalizer {
		if err := r.finalize(ctx, m, controllerutil.RemoveFinalizer); err != nil {
			return err
		}
	}
	if plan.Delete {
		return write.Delete(ctx, r.client, m)
	}
	return nil
}

// finalize adds or removes the finalizer where that changes something. The cache does not
// know the finalizers of others, so that the object is read as it is.
func (r *Reconciler) finalize(ctx context.Context, m *criticalv2.Maintenance, change func(client.Object, string) bool) error {
	if !change(m.DeepCopy(), criticalv2.FinalizerRestore) {
		return nil
	}
	seen := m.ResourceVersion
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
		return err
	}
	if m.ResourceVersion != seen {
		return apierrors.NewConflict(criticalv2.GroupVersion.WithResource("maintenances").GroupResource(), m.Name, errors.New("it has changed since it was read"))
	}
	before := m.DeepCopy()
	change(m, criticalv2.FinalizerRestore)
	return write.Patch(ctx, r.client, before, m)
}
