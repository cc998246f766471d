package decide

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

// retries is when a restore that failed is tried again.
var retries = recheck.Bounds{Shortest: 10 * time.Second, Longest: 5 * time.Minute}

// restores reports whether the first data is awaited, by what is noted already: a cluster that
// begins without it would have other data.
func (d *decision) restores() bool {
	return d.Instance.Spec.Restore != nil && !meta.IsStatusConditionTrue(d.Instance.Status.Conditions, workloadsv1alpha1.ConditionRestored)
}

// restore makes the data of the first member, before there is a StatefulSet: nothing is ever restored
// over data. The Pod goes when its result is noted.
func (d *decision) restore() {
	if d.Instance.Spec.Restore == nil {
		return
	}
	pod := d.RestorePod
	if !d.restores() {
		if pod != nil && render.IsOurs(d.Instance, pod) {
			d.drop(pod)
		}
		return
	}
	if reason, why := d.restoreObstacle(); why != "" {
		d.restored(false, reason, why)
		return
	}
	if pod != nil {
		d.followRestore(pod)
		return
	}
	if d.Claims[d.Instance.MemberName(0)] == nil {
		d.plan.Claim = render.DataClaim(d.Instance)
	}
	d.plan.SnapshotPod = render.RestorePod(d.Instance, d.Origin, d.SnapshotImage, cmp.Or(d.Instance.Spec.Image, d.Image))
	d.stillRestores("The data is being restored.")
}

// restoreObstacle says why nothing can be restored; both are empty where something can.
func (d *decision) restoreObstacle() (reason, why string) {
	pod, from := d.RestorePod, d.Instance.Spec.Restore.FromInstance
	switch {
	case d.isFaulty():
		return workloadsv1alpha1.ReasonRestorePending, "Something else comes first: see the condition Ready."
	case d.StatefulSet != nil || len(d.entries) > 0 || d.status.ClusterID != "":
		return workloadsv1alpha1.ReasonRestoreFailed, fmt.Sprintf("StatefulSet %q was there before the data, and nothing is restored over data: create another ETCDInstance.", d.Instance.Name)
	case pod != nil && !render.IsOurs(d.Instance, pod):
		return workloadsv1alpha1.ReasonRestoreFailed, fmt.Sprintf("Pod %q exists and does not belong to this ETCDInstance: delete or rename it.", pod.Name)
	case d.SnapshotImage == "":
		return workloadsv1alpha1.ReasonRestoreFailed, lacksProgram
	case pod != nil || from == "":
		return "", ""
	case d.Origin == nil:
		return workloadsv1alpha1.ReasonRestoreFailed, fmt.Sprintf("ETCDInstance %q does not exist in this namespace: create it, or another ETCDInstance than this one with another spec.restore.", from)
	case d.Origin.Status.ClusterID == "":
		return workloadsv1alpha1.ReasonRestorePending, fmt.Sprintf("ETCDInstance %q has no data yet.", from)
	}
	return "", ""
}

// followRestore notes how far the Pod is.
func (d *decision) followRestore(pod *corev1.Pod) {
	switch {
	case pod.DeletionTimestamp != nil:
		d.stillRestores("The data is being restored.")
	case pod.Status.Phase == corev1.PodSucceeded && d.Claims[d.Instance.MemberName(0)] == nil:
		d.restored(false, workloadsv1alpha1.ReasonRestoreFailed, fmt.Sprintf("Claim %q is gone, or does not have the label %s=%s: give it that.", d.Instance.ClaimName(0), workloadsv1alpha1.LabelETCDInstance, d.Instance.Name))
	case pod.Status.Phase == corev1.PodSucceeded:
		done, err := result.Parse(render.SnapshotReport(pod))
		if err != nil {
			d.restoreAgain(pod, err.Error())
			return
		}
		d.restored(true, workloadsv1alpha1.ReasonRestored, fmt.Sprintf("The data of revision %d was restored, from a snapshot of %d bytes.", done.Revision, done.SizeBytes))
	case pod.Status.Phase == corev1.PodFailed:
		d.restoreAgain(pod, render.SnapshotProblem(pod))
	case d.Instance.Spec.Restore.Upload && render.IsReceiving(pod):
		d.restored(false, workloadsv1alpha1.ReasonWaitingForUpload, fmt.Sprintf("Pod %q waits for the snapshot: send it to the subresource restore.", pod.Name))
	default:
		message := "The data is being restored."
		if found := problemOf(pod); found != nil {
			message += " " + found.message
		}
		d.stillRestores(message)
	}
}

// restoreAgain tries a restore again that has failed, each time after longer.
func (d *decision) restoreAgain(pod *corev1.Pod, why string) {
	d.restored(false, workloadsv1alpha1.ReasonRestoreFailed, fmt.Sprintf("The data is not restored, and this is tried again: %s.", why))
	age := d.Ages.Of(workloadsv1alpha1.ConditionRestored, workloadsv1alpha1.ReasonRestoreFailed, d.Now)
	wait := retries.After(age, d.Instance.UID)
	if left := pod.CreationTimestamp.Add(wait).Sub(d.Now); left > 0 {
		d.recheckIn(left)
		return
	}
	d.drop(pod)
}

// stillRestores says that the restore is under way; what failed before is said until it succeeds.
func (d *decision) stillRestores(message string) {
	if before := meta.FindStatusCondition(d.Instance.Status.Conditions, workloadsv1alpha1.ConditionRestored); before != nil && before.Reason == workloadsv1alpha1.ReasonRestoreFailed {
		d.restored(false, before.Reason, before.Message)
		return
	}
	d.restored(false, workloadsv1alpha1.ReasonRestorePending, message)
}

func (d *decision) restored(is bool, reason, message string) {
	d.conditions().Set(workloadsv1alpha1.ConditionRestored, is, reason, condition.Message(message))
}

// hasLostRestored reports whether the claim with restored data is gone before a member had it: the
// cluster would begin without any.
func (d *decision) hasLostRestored() bool {
	return d.Instance.Spec.Restore != nil && !d.restores() && len(d.entries) == 0 && d.status.ClusterID == "" && d.volume(d.Instance.MemberName(0)) == ""
}

// hasRestoreFailed reports whether the last try failed.
func (d *decision) hasRestoreFailed() bool {
	said := meta.FindStatusCondition(d.status.Conditions, workloadsv1alpha1.ConditionRestored)
	return d.restores() && said != nil && said.Reason == workloadsv1alpha1.ReasonRestoreFailed
}

// whatRestores is what the condition says.
func whatRestores(d *decision) string {
	return meta.FindStatusCondition(d.status.Conditions, workloadsv1alpha1.ConditionRestored).Message
}
