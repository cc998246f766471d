package protection

import corev1 "k8s.io/api/core/v1"

// PodCondition is a condition of a Pod; its Status is empty if there is none.
func PodCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{Type: kind}
}
