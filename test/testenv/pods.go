package testenv

import (
	"fmt"
	"sync/atomic"

	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TargetPort is where the Pods of a test listen.
var TargetPort = intstr.FromInt32(8080)

// PodSpec is a Pod that listens on TargetPort.
func PodSpec() corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{
		Name: "web", Image: "example.com/web:1",
		Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: TargetPort.IntVal}},
	}}}
}

// Pod makes a Pod of the application that a Service selects.
func (w *World) Pod(name string, service *corev1.Service, changes ...func(*corev1.Pod)) *corev1.Pod {
	w.T.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: w.Namespace, Labels: service.Spec.Selector},
		Spec:       PodSpec(),
	}
	for _, change := range changes {
		change(pod)
	}
	w.Create(pod)
	return pod
}

// addresses counts the addresses that were given to Pods.
var addresses atomic.Uint32

// MakeReady does what kubelet does when a Pod passes its readiness probe.
func (w *World) MakeReady(pod *corev1.Pod) { w.T.Helper(); w.run(pod, corev1.ConditionTrue) }

// MakeUnready does what kubelet does when a running Pod fails its readiness probe.
func (w *World) MakeUnready(pod *corev1.Pod) { w.T.Helper(); w.run(pod, corev1.ConditionFalse) }

func (w *World) run(pod *corev1.Pod, ready corev1.ConditionStatus) {
	w.T.Helper()
	w.PodStatus(pod, func(status *corev1.PodStatus) {
		status.Phase = corev1.PodRunning
		status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}
		if status.PodIP == "" {
			number := addresses.Add(1)
			status.PodIP = fmt.Sprintf("10.1.%d.%d", number/250%250, number%250+1)
			status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
		}
	})
}

// PodStatus changes the status of a Pod, as kubelet does.
func (w *World) PodStatus(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.T.Helper()
	w.Eventually(func() error {
		if err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err
		}
		change(&pod.Status)
		return w.Cluster.Client.Status().Update(w.T.Context(), pod)
	}).Should(gomega.Succeed())
}

// Schedule does what the scheduler does. From then on a Pod that is deleted stays
// until kubelet, or a forced delete, ends it.
func (w *World) Schedule(pod *corev1.Pod) {
	w.T.Helper()
	w.Expect(w.Cluster.Client.SubResource("binding").Create(w.T.Context(), pod, &corev1.Binding{
		Target: corev1.ObjectReference{Kind: "Node", Name: "node"},
	})).To(gomega.Succeed())
}
