package diagnosis

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IsUncontrolled reports whether a Pod has no controller: whether it is one of the
// Service's own Pods, or a stray one beside them, only the workloads show.
func IsUncontrolled(pod *corev1.Pod) bool { return metav1.GetControllerOf(pod) == nil }

// isOfJob reports whether a Pod has work to do and ends then: the hook of a Helm
// chart, for one, often has the labels of the application.
func isOfJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "Job"
}

// isBystander makes a test for Pods that the Service selects and that do not
// explain its outage: Pods of Jobs and Pods without a controller, where a workload is
// there to make the Service's Pods. Where none is, they are all that it has.
func (e *Evidence) isBystander(workloads []workload) func(*corev1.Pod) bool {
	kept := len(matching(e.Service, workloads)) > 0 || slices.ContainsFunc(e.Pods, func(pod corev1.Pod) bool {
		return !IsUncontrolled(&pod) && !isOfJob(&pod)
	})
	return func(pod *corev1.Pod) bool {
		return kept && IsUncontrolled(pod) || (kept || e.WorkloadsUnread) && isOfJob(pod)
	}
}
