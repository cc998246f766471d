// Package fakenode says of Pods that they run, as a kubelet would, where there is none: a
// benchmark then has as many as it likes.
package fakenode

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HostIP is the address of the node: of the range for benchmarks (RFC 2544).
const HostIP = "198.19.0.0"

// Run makes the status that of a Pod whose containers run and are ready. The Pod is ready when its
// gates are open as well.
func Run(pod *corev1.Pod, address string) {
	now := metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	pod.Status.PodIP = address
	pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
	pod.Status.HostIP = HostIP
	pod.Status.HostIPs = []corev1.HostIP{{IP: HostIP}}
	if pod.Status.StartTime == nil {
		pod.Status.StartTime = &now
	}
	pod.Status.ContainerStatuses = nil
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, Image: container.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: *pod.Status.StartTime}},
		})
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady} {
		setCondition(pod, kind, true)
	}
	open := !slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return !HasCondition(pod, gate.ConditionType)
	})
	setCondition(pod, corev1.PodReady, open)
}

// HasCondition reports whether a Pod has a condition that is True.
func HasCondition(pod *corev1.Pod, kind corev1.PodConditionType) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == kind && condition.Status == corev1.ConditionTrue
	})
}

func setCondition(pod *corev1.Pod, kind corev1.PodConditionType, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	wanted := corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: metav1.Now()}
	i := slices.IndexFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool { return condition.Type == kind })
	switch {
	case i < 0:
		pod.Status.Conditions = append(pod.Status.Conditions, wanted)
	case pod.Status.Conditions[i].Status != status:
		pod.Status.Conditions[i] = wanted
	}
}
