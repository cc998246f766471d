package responder_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// containersReady does what a kubelet does once the containers of a Pod are ready.
func (w *world) containersReady(pod *corev1.Pod, address string) {
	w.T.Helper()
	w.PodStatus(pod, func(status *corev1.PodStatus) {
		status.Phase, status.PodIP, status.PodIPs = corev1.PodRunning, address, []corev1.PodIP{{IP: address}}
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue})
	})
}

// publishPod makes the slice that publishes a Pod for a Service.
func (w *world) publishPod(service string, pod *corev1.Pod) *discoveryv1.EndpointSlice {
	w.T.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: service + "-standby-" + pod.Name, Namespace: w.Namespace,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
				criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage, criticalv2.LabelStandbyPod: string(pod.UID),
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(pod, corev1.SchemeGroupVersion.WithKind("Pod"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{pod.Status.PodIP}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: pod.Name, Namespace: w.Namespace, UID: pod.UID},
		}},
	}
	w.Create(slice)
	return slice
}

// A Pod counts as ready only once it is published wherever another is, and the
// condition survives what the kubelet writes.
func TestAReadinessGateWaitsForPublication(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.critical("web", criticalv2.PageFallback{})
	w.critical("api", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)
	isOpen := func(pod *corev1.Pod) func() bool {
		return func() bool { return w.Exists(pod) && protection.IsPublished(pod) }
	}

	older := w.pod("responder-1")
	w.look()
	w.Expect(isOpen(older)()).To(BeFalse(), "its containers are not ready")
	w.containersReady(older, "10.9.0.1")
	w.Eventually(isOpen(older)).Should(BeTrue(), "no Pod is published yet")
	w.Expect(protection.PodCondition(older, corev1.ContainersReady).Status).To(Equal(corev1.ConditionTrue))
	w.publishPod("web", older)
	w.publishPod("api", older)
	w.look() // The operator knows them before there is another Pod.

	newer := w.pod("responder-2")
	w.containersReady(newer, "10.9.0.2")
	w.publishPod("web", newer)
	w.look()
	w.Expect(isOpen(newer)()).To(BeFalse(), "one Service lacks it")
	last := w.publishPod("api", newer)
	w.Eventually(isOpen(newer)).Should(BeTrue())
	w.current().Settled(w.World)

	before, isPromoted := len(w.writes()), false
	// On a busy machine news of what was written before may still come, in one round or another.
	w.Eventually(func() int {
		looks := w.current().Reconciles("responder", "", w.Namespace)
		isPromoted = !isPromoted
		testenv.Update(w.World, last, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = &isPromoted })
		w.Delete(w.publishPod("other", newer))
		w.look()
		w.Expect(isOpen(newer)()).To(BeTrue())
		w.Expect(w.writes()[before:]).To(BeEmpty())
		return w.current().Reconciles("responder", "", w.Namespace) - looks
	}).Should(BeNumerically("<=", 2), "a promotion and a publication that no gate waits for wake nothing")
}
