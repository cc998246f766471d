package database

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
)

// record writes the status where it differs.
func (r *Reconciler) record(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) error {
	updated := snap.Database.DeepCopy()
	updated.Status = plan.Status
	_, err := write.Status(ctx, r.client, snap.Database, updated)
	return err
}

// did reports what was written.
func (r *Reconciler) did(ctx context.Context, snap *decide.Snapshot, done *outcome) {
	log, d := ctrl.LoggerFrom(ctx), snap.Database
	if done.generated != nil {
		log.Info("generated a password", "secret", done.generated.Name)
		r.Emit(d, nil, corev1.EventTypeNormal, eventPasswordGenerated, "GeneratePassword", "Secret %s has the credentials", done.generated.Name)
	}
	if done.created != nil {
		log.Info("created the Pod", "image", done.created.Spec.Containers[0].Image)
		r.Emit(d, nil, corev1.EventTypeNormal, eventPodCreated, "CreatePod", "Created Pod %s with image %.500s", done.created.Name, done.created.Spec.Containers[0].Image)
	}
	if done.tried != nil {
		log.Info("created a Pod that tries the next one out", "pod", done.tried.Name, "image", done.tried.Spec.Containers[0].Image)
	}
	if done.removed != nil {
		log.Info("deleted the Pod", "uid", done.removed.UID)
		r.Emit(d, nil, corev1.EventTypeNormal, eventPodDeleted, "DeletePod", "Deleted Pod %s", done.removed.Name)
	}
}

// passing are the reasons of Ready that need no one.
var passing = []string{workloadsv1.ReasonStarting, workloadsv1.ReasonReplacing}

// report reports how the Database stands, where that is news.
func (r *Reconciler) report(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) {
	before := meta.FindStatusCondition(snap.Database.Status.Conditions, workloadsv1.ConditionReady)
	now := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionReady)
	if now == nil || before != nil && before.Reason == now.Reason || slices.Contains(passing, now.Reason) {
		return
	}
	kind := corev1.EventTypeWarning
	if now.Reason == workloadsv1.ReasonRunning || now.Reason == workloadsv1.ReasonSuspended {
		kind = corev1.EventTypeNormal
	}
	ctrl.LoggerFrom(ctx).Info(now.Message, "reason", now.Reason)
	r.Emit(snap.Database, nil, kind, now.Reason, "RunDatabase", "%.900s", now.Message)
}
