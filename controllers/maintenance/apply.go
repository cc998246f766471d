package maintenance

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/write"
)

// outcome is the result of a plan. It lists only what was done.
type outcome struct {
	restored, deleted bool
}

// apply carries a plan out: replicas are restored before the debt is cleared, so that an
// operator that dies between the two tries to restore them again, and finds that it has.
func (r *Reconciler) apply(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) (outcome, error) {
	var done outcome
	if plan.Restore {
		if err := r.dryRun(ctx, snap.Config); err != nil {
			return done, err
		}
		if err := r.restore(ctx, snap, plan.Maintenance.Workload); err != nil {
			return done, err
		}
		done.restored = true
	}
	if plan.ClearDebt {
		if err := write.Patch(ctx, r.client, snap.Config, withoutDebt(snap.Config)); err != nil {
			return done, err
		}
	}
	if plan.Delete {
		if err := write.Delete(ctx, r.client, snap.Config.DeepCopy()); err != nil {
			return done, err
		}
		done.deleted = true
	}
	return done, nil
}

// withoutDebt is a ConfigMap that owes nothing any more.
func withoutDebt(config *corev1.ConfigMap) *corev1.ConfigMap {
	cleared := config.DeepCopy()
	delete(cleared.Data, criticalv2.MaintenanceWorkload)
	delete(cleared.Data, criticalv2.MaintenanceReplicas)
	return cleared
}

// dryRun asks the API server whether the operator may record in the ConfigMap that it
// owes nothing any more. The permission to do so comes in one Role with that to scale
// the workload, so that a ConfigMap that came with none cannot use that of another.
func (r *Reconciler) dryRun(ctx context.Context, config *corev1.ConfigMap) error {
	patch := client.MergeFromWithOptions(config, client.MergeFromWithOptimisticLock{})
	return r.client.Patch(ctx, withoutDebt(config), patch, client.FieldOwner(write.FieldManager), client.DryRunAll)
}

// restore gives a workload its replicas back, provided that its scale is still as it
// was read: 0. A workload that has gone meanwhile needs none.
func (r *Reconciler) restore(ctx context.Context, snap *decide.Snapshot, w *criticalv2.MaintainedWorkload) error {
	workload, err := r.workload(snap.Config.Namespace, w)
	if err != nil {
		return err
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": snap.Scale.Version},
		"spec":     map[string]any{"replicas": w.Replicas},
	})
	if err != nil {
		return fault.BugFrom(err)
	}
	err = r.client.SubResource("scale").Patch(ctx, workload, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(write.FieldManager))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
