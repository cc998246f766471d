package etcdinstance

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
)

// record writes the status where it differs.
func (r *Reconciler) record(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) error {
	updated := snap.Instance.DeepCopy()
	updated.Status = plan.Status
	_, err := write.Status(ctx, r.client, snap.Instance, updated)
	return err
}

// changes are the events of what was done to the cluster.
var changes = map[decide.ChangeKind]struct{ reason, action, says string }{
	decide.AddLearner: {eventMemberAdded, "AddMember", "Added member %s, which gets the data before it votes"},
	decide.Promote:    {eventMemberPromoted, "PromoteMember", "Member %s has the data, and votes"},
	decide.Remove:     {eventMemberRemoved, "RemoveMember", "Removed member %s from the cluster"},
	decide.MoveLeader: {eventLeaderMoved, "MoveLeader", "Member %s leads"},
}

// did reports what was written.
func (r *Reconciler) did(ctx context.Context, snap *decide.Snapshot, done *outcome) {
	log, e := ctrl.LoggerFrom(ctx), snap.Instance
	for _, name := range done.certificates {
		log.Info("made a certificate", "secret", name)
		r.Emit(e, nil, corev1.EventTypeNormal, eventCertificateIssued, "IssueCertificate", "Secret %s has a new certificate", name)
	}
	if change := done.changed; change != nil {
		event := changes[change.Kind]
		log.Info("changed the cluster", "change", change.Kind, "member", change.Name, "id", change.ID)
		r.Emit(e, nil, corev1.EventTypeNormal, event.reason, event.action, event.says, change.Name)
	}
	if done.untaken != "" {
		log.Info("etcd did not take a change, which is sent again", "cause", done.untaken)
	}
	if done.removed != nil {
		log.Info("deleted a Pod", "pod", done.removed.Name, "uid", done.removed.UID)
		r.Emit(e, nil, corev1.EventTypeNormal, eventPodDeleted, "DeletePod", "Deleted Pod %s", done.removed.Name)
	}
}

// reportSnapshots reports what became of one, where that is news.
func (r *Reconciler) reportSnapshots(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) {
	log, before, now := ctrl.LoggerFrom(ctx), snap.Instance.Status.Backup, plan.Status.Backup
	isNews := now != nil && (before == nil || before.Request != now.Request || before.State != now.State)
	switch {
	case isNews && now.State == workloadsv1alpha1.ETCDBackupStored:
		log.Info("a snapshot is stored", "file", now.File, "revision", now.Revision)
		r.Emit(snap.Instance, nil, corev1.EventTypeNormal, eventSnapshotStored, "StoreSnapshot", "Stored %s of revision %d", now.File, now.Revision)
	case isNews && now.State == workloadsv1alpha1.ETCDBackupFailed:
		log.Info("a snapshot is not stored", "reason", now.Message)
		r.Emit(snap.Instance, nil, corev1.EventTypeWarning, eventSnapshotFailed, "StoreSnapshot", "%.900s", now.Message)
	}
	const restored = workloadsv1alpha1.ConditionRestored
	if meta.IsStatusConditionTrue(plan.Status.Conditions, restored) && !meta.IsStatusConditionTrue(snap.Instance.Status.Conditions, restored) {
		message := meta.FindStatusCondition(plan.Status.Conditions, restored).Message
		log.Info(message)
		r.Emit(snap.Instance, nil, corev1.EventTypeNormal, eventDataRestored, "RestoreData", "%.900s", message)
	}
}

// passing are the reasons of Ready that need no one.
var passing = []string{workloadsv1.ReasonStarting, workloadsv1.ReasonReplacing, workloadsv1alpha1.ReasonBackingUp, workloadsv1alpha1.ReasonScaling, workloadsv1alpha1.ReasonUpgrading, workloadsv1alpha1.ReasonQuorumPending}

// report reports how the ETCDInstance stands, where that is news.
func (r *Reconciler) report(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) {
	r.reportSnapshots(ctx, snap, plan)
	before := meta.FindStatusCondition(snap.Instance.Status.Conditions, workloadsv1.ConditionReady)
	now := meta.FindStatusCondition(plan.Status.Conditions, workloadsv1.ConditionReady)
	if now == nil || before != nil && before.Reason == now.Reason || slices.Contains(passing, now.Reason) {
		return
	}
	kind := corev1.EventTypeWarning
	if now.Reason == workloadsv1.ReasonRunning {
		kind = corev1.EventTypeNormal
	}
	ctrl.LoggerFrom(ctx).Info(now.Message, "reason", now.Reason)
	r.Emit(snap.Instance, nil, kind, now.Reason, "RunETCDInstance", "%.900s", now.Message)
}
