package decide

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

// retryBackup is when a snapshot that a deletion waits for is tried again.
const retryBackup = time.Minute

// lacksProgram says why no Pod with the operator's own program can be made.
const lacksProgram = "The operator does not know its own image, which has the program that moves snapshots: set its WORKLOADS_IMAGE."

// isDeleted reports whether the ETCDInstance is kept only by its finalizer.
func (s *Snapshot) isDeleted() bool { return s.Instance.DeletionTimestamp != nil }

func (s *Snapshot) isKept() bool {
	return slices.Contains(s.Instance.Finalizers, workloadsv1alpha1.Finalizer)
}

// keep keeps an ETCDInstance that is to be backed up before it goes, and releases it otherwise.
func (d *decision) keep() {
	switch wanted := d.Instance.Spec.Backup.BeforeDeletion; {
	case wanted && !d.isKept() && !d.isDeleted():
		d.plan.AddFinalizer = true
	case !d.isKept():
	case !wanted:
		d.plan.RemoveFinalizer = true
	case d.isDeleted():
		// Where there has never been a quorum there is nothing to store. What is stored was noted before.
		stored := d.Instance.Status.Backup
		d.plan.RemoveFinalizer = d.status.ClusterID == "" ||
			stored != nil && stored.Request == string(d.Instance.UID) && stored.State == workloadsv1alpha1.ETCDBackupStored
	}
}

// backupRequest is the request for a snapshot that is not answered yet; empty if there is none.
func (d *decision) backupRequest() string {
	request := d.Instance.Annotations[workloadsv1alpha1.AnnotationBackup]
	if d.isDeleted() {
		request = ""
		if d.Instance.Spec.Backup.BeforeDeletion {
			request = string(d.Instance.UID)
		}
	}
	if len(request) > workloadsv1alpha1.MaxBackupRequest {
		return ""
	}
	answered := d.status.Backup
	if answered == nil || answered.Request != request || answered.State == workloadsv1alpha1.ETCDBackupRunning {
		return request
	}
	if d.isDeleted() && answered.State == workloadsv1alpha1.ETCDBackupFailed {
		left := retryBackup
		if answered.Time != nil {
			left = answered.Time.Add(retryBackup).Sub(d.Now)
		}
		if left <= 0 {
			return request
		}
		d.recheckIn(left)
	}
	return ""
}

// storeBackup answers a request for a snapshot, by a Pod that ends once it is stored. The Pod goes
// when its result is noted.
func (d *decision) storeBackup() {
	request, pod := d.backupRequest(), d.BackupPod
	if pod != nil && !render.IsOurs(d.Instance, pod) {
		if request != "" {
			d.answer(request, workloadsv1alpha1.ETCDBackupFailed, fmt.Sprintf("Pod %q exists and does not belong to this ETCDInstance: delete or rename it, and ask again.", pod.Name))
		}
		return
	}
	switch {
	case pod != nil && (request == "" || pod.Annotations[workloadsv1alpha1.AnnotationBackup] != request):
		d.drop(pod)
	case request == "" || d.blocked():
	case d.SnapshotImage == "":
		d.answer(request, workloadsv1alpha1.ETCDBackupFailed, lacksProgram)
	case pod == nil && !d.hasQuorum():
		d.answer(request, workloadsv1alpha1.ETCDBackupRunning, "The snapshot waits until the cluster has a quorum.")
	case pod == nil:
		if d.BackupClaim == nil {
			d.plan.Claim = render.BackupClaim(d.Instance)
		}
		d.plan.SnapshotPod = render.BackupPod(d.Instance, d.SnapshotImage, request)
		d.answer(request, workloadsv1alpha1.ETCDBackupRunning, "The snapshot is being stored.")
	default:
		d.followBackup(request, pod)
	}
}

// followBackup notes how far the Pod is.
func (d *decision) followBackup(request string, pod *corev1.Pod) {
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		stored, err := result.Parse(render.SnapshotReport(pod))
		if err != nil {
			d.answer(request, workloadsv1alpha1.ETCDBackupFailed, fmt.Sprintf("Pod %q ended, and %s.", pod.Name, err))
			return
		}
		d.answer(request, workloadsv1alpha1.ETCDBackupStored, fmt.Sprintf("The snapshot is in claim %q.", d.Instance.BackupClaimName()))
		d.status.Backup.File, d.status.Backup.Revision, d.status.Backup.SizeBytes = stored.File, stored.Revision, stored.SizeBytes
	case corev1.PodFailed:
		d.answer(request, workloadsv1alpha1.ETCDBackupFailed, fmt.Sprintf("The snapshot is not stored: %s. Ask again when that is corrected.", render.SnapshotProblem(pod)))
	default:
		message := "The snapshot is being stored."
		if found := problemOf(pod); found != nil {
			message += " " + found.message
		}
		d.answer(request, workloadsv1alpha1.ETCDBackupRunning, message)
	}
}

// answer says how the snapshot stands that was asked for.
func (d *decision) answer(request string, state workloadsv1alpha1.ETCDBackupState, message string) {
	said := &workloadsv1alpha1.ETCDStoredBackup{Request: request, State: state, Message: condition.Message(message)}
	if state != workloadsv1alpha1.ETCDBackupRunning {
		said.Time = new(metav1.NewTime(d.Now.Truncate(time.Second)))
	} else {
		d.recheckIn(steps.Longest)
	}
	d.status.Backup = said
}

// drop takes a Pod away that has done its work.
func (d *decision) drop(pod *corev1.Pod) {
	if pod.DeletionTimestamp == nil {
		d.plan.DropPod = pod
	}
}

func (d *decision) hasBackupFailed() bool {
	stored := d.status.Backup
	return stored != nil && stored.Request == string(d.Instance.UID) && stored.State == workloadsv1alpha1.ETCDBackupFailed
}

// whyItStays says why an ETCDInstance that is deleted is still there.
func whyItStays(d *decision) string {
	const instead = " To delete it without, set spec.backup.beforeDeletion to false."
	switch {
	case !d.hasQuorum():
		return "It is kept until a snapshot is stored, and cannot be backed up, because the cluster has no quorum: bring its Pods back." + instead
	case d.hasBackupFailed():
		return "It is kept until a snapshot is stored. " + d.status.Backup.Message + instead
	default:
		return "It is kept until a snapshot is stored." + instead
	}
}
