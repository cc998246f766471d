package decide

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/drift"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

const (
	// nodeMargin is how long after its time a Pod that is ending may still be there before
	// its node counts as lost.
	nodeMargin = 30 * time.Second
	// shortestEndedWait is how old a Pod that has ended must be at least before it is
	// replaced: see endedWait.
	shortestEndedWait = 10 * time.Second
)

// run makes the Pod, keeps it, or takes it away. There is never more than one: the next one
// has the same name.
func (d *decision) run() {
	pod := d.ours()
	switch {
	case d.Pod != nil && pod == nil:
		// Another's: see findConflict.
	case pod == nil && !d.blocked() && !d.Database.Spec.Suspend:
		d.plan.CreatePod = d.wanted()
	case pod == nil:
	case pod.DeletionTimestamp != nil:
		d.plan.RemovePod = d.end(pod)
	case d.losesData():
		d.keep(pod)
	case d.Database.Spec.Suspend:
		d.plan.RemovePod = &Removal{Pod: pod}
	case hasEnded(pod):
		d.plan.RemovePod = d.clear(pod)
	case !d.isCurrent(pod) && !d.blocked():
		d.replace(pod)
	default:
		d.keep(pod)
	}
	d.tidy()
}

// wanted is the Pod as it is to be.
func (d *decision) wanted() *corev1.Pod { return render.Pod(d.Database, d.image()) }

// image is what the spec says, else what had the data last, else what has begun, else the
// setting: one that changes with the operator must not bring data to an engine that cannot
// read it, and an image that never came up has none.
func (s *Snapshot) image() string {
	return cmp.Or(s.Database.Spec.Image, s.had(), s.begun(), s.Image)
}

// had is the image whose engine last came up with the data, which is in the claim or else in
// the Pod; empty if none did.
func (s *Snapshot) had() string {
	if pod := s.ours(); pod != nil && s.hasComeUp(pod) {
		return render.ImageOf(s.Database, pod)
	}
	if s.Claim == nil {
		return ""
	}
	return s.Claim.Annotations[workloadsv1.AnnotationImage]
}

// begun is the image of a Pod that may be preparing its data for the first time, which is
// not cut short for another setting; empty if there is none. One that the spec has named, and
// no longer does, is not what it is to be.
func (s *Snapshot) begun() string {
	pod := s.ours()
	if pod == nil || pod.Annotations[workloadsv1.AnnotationDefaultImage] == "" {
		return ""
	}
	if status := statusOf(s.Database, pod); status == nil || status.State.Running == nil {
		return ""
	}
	return render.ImageOf(s.Database, pod)
}

// DependsOnClaim reports whether the note on the claim says which image the next Pod has.
func (s *Snapshot) DependsOnClaim() bool {
	pod := s.ours()
	return s.Database.Spec.Image == "" && (pod == nil || !s.hasComeUp(pod))
}

// isCurrent reports whether a Pod was made from what the spec says now.
func (s *Snapshot) isCurrent(pod *corev1.Pod) bool {
	return pod.Annotations[workloadsv1.AnnotationSpec] == render.SpecHash(s.Database, s.image())
}

// IsOutdated reports whether there is a Pod of the Database that the spec changes.
func (s *Snapshot) IsOutdated() bool {
	pod := s.ours()
	return pod != nil && !s.isCurrent(pod)
}

// end waits for a Pod that is ending, and forces one whose node is lost. One with a volume is
// never forced: it may still write, and the next one would write as well.
func (d *decision) end(pod *corev1.Pod) *Removal {
	if left := overdueIn(pod, d.Now); left > 0 {
		d.recheckIn(left)
		return nil
	}
	if render.HasVolume(pod) || len(pod.Finalizers) > 0 {
		return nil
	}
	return &Removal{Pod: pod, Force: true}
}

// overdueIn is how long a Pod that is ending may still be there. Its deletion timestamp is
// when it should have ended.
func overdueIn(pod *corev1.Pod, now time.Time) time.Duration {
	return pod.DeletionTimestamp.Add(nodeMargin).Sub(now)
}

// hasEnded reports whether a Pod will never run again: it was evicted, or rejected by its
// node.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// endedWait is how old a Pod that has ended must be before it is replaced. One that its node
// rejects at once, or evicts again and again, must not be made at this pace for ever: each is
// kept for as long as the Database had not been ready when it was made, so that this doubles.
func (d *decision) endedWait(pod *corev1.Pod) time.Duration {
	var failing time.Duration
	if ready := meta.FindStatusCondition(d.status.Conditions, workloadsv1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		failing = pod.CreationTimestamp.Sub(ready.LastTransitionTime.Time)
	}
	return min(max(failing, shortestEndedWait), recheck.Unwatched.Longest)
}

// clear takes a Pod away that has ended, so that another can be made.
func (d *decision) clear(pod *corev1.Pod) *Removal {
	if left := pod.CreationTimestamp.Add(d.endedWait(pod)).Sub(d.Now); left > 0 {
		d.recheckIn(left)
		return nil
	}
	return &Removal{Pod: pod}
}

// keep gives a Pod back the labels by which the Service finds it, and its owner, and notes
// that its engine has come up: its status does not say so any more once that starts again.
func (d *decision) keep(pod *corev1.Pod) {
	wanted := &metav1.ObjectMeta{Labels: render.Labels(d.Database), OwnerReferences: []metav1.OwnerReference{render.Controller(d.Database)}}
	if d.isUp(pod) {
		wanted.Annotations = map[string]string{workloadsv1.AnnotationCameUp: "true"}
	}
	if drift.Covers(&corev1.Pod{ObjectMeta: pod.ObjectMeta}, &corev1.Pod{ObjectMeta: *wanted}) {
		return
	}
	kept := pod.DeepCopy()
	if kept.Labels == nil {
		kept.Labels = map[string]string{}
	}
	maps.Copy(kept.Labels, wanted.Labels)
	for key, value := range wanted.Annotations {
		metav1.SetMetaDataAnnotation(&kept.ObjectMeta, key, value)
	}
	kept.OwnerReferences = append(slices.DeleteFunc(kept.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == d.Database.UID
	}), wanted.OwnerReferences...)
	d.plan.ChangePod = &Change[*corev1.Pod]{From: pod, To: kept}
}
