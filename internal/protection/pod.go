package protection

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// PodCondition is a condition of a Pod; its Status is empty if there is none.
func PodCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return corev1.PodCondition{Type: kind}
}

// gatesNotReady is the reason that the kubelet gives while a readiness gate keeps a Pod
// from being ready (kubernetes/pkg/kubelet/status). It follows the gate a moment later.
const gatesNotReady = "ReadinessGatesNotReady"

// CanAnswer reports whether a Pod of ours can answer. A responder Pod can before it is
// ready: its readiness gate waits until it is published, and the kubelet for the gate.
// Later a Pod that is not ready cannot, though its containers may seem so: its node is
// lost.
func CanAnswer(pod *corev1.Pod) bool {
	ready := PodCondition(pod, corev1.PodReady)
	if ready.Status == corev1.ConditionTrue {
		return true
	}
	return IsResponder(pod) && (!IsPublished(pod) || ready.Reason == gatesNotReady) &&
		PodCondition(pod, corev1.ContainersReady).Status == corev1.ConditionTrue
}

// IsPublished reports whether the readiness gate of a responder Pod has opened.
func IsPublished(pod *corev1.Pod) bool {
	return PodCondition(pod, criticalv2.ConditionPublished).Status == corev1.ConditionTrue
}

// HasAddress reports whether an address is one of a Pod's now. A Pod whose sandbox was
// made again, as after a reboot of its node, has another.
func HasAddress(pod *corev1.Pod, address string) bool {
	return slices.ContainsFunc(pod.Status.PodIPs, func(ip corev1.PodIP) bool { return ip.IP == address })
}

// StandsFor is the UID of the Pod that a standby slice publishes; empty for a slice
// that publishes none, or a backup Service.
func StandsFor(slice metav1.Object) types.UID {
	return types.UID(slice.GetLabels()[criticalv2.LabelStandbyPod])
}
