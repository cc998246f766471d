package invariant

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatChangedBetweenTwoLooksIsListed(t *testing.T) {
	g := NewWithT(t)
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Spec: corev1.PodSpec{NodeName: "node1"}, Status: corev1.PodStatus{
		PodIP: "10.0.0.1", Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}}
	slice := discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "web-abc", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}}},
	}
	first := &Look{Pods: []corev1.Pod{pod}, Slices: []discoveryv1.EndpointSlice{slice}}
	g.Expect(Changes(nil, first)).To(Equal([]string{
		"EndpointSlice web-abc of web: 10.0.0.1 ready true serving true terminating false",
		"Pod web-1: 10.0.0.1 on node1, Running, ready True",
	}))
	g.Expect(Changes(first, first)).To(BeEmpty())

	leaving := *pod.DeepCopy()
	leaving.DeletionTimestamp, leaving.Status.Conditions[0].Status = &metav1.Time{}, corev1.ConditionFalse
	g.Expect(Changes(first, &Look{Pods: []corev1.Pod{leaving}})).To(Equal([]string{
		"Pod web-1: 10.0.0.1 on node1, Running, ready False, terminating", "EndpointSlice web-abc of web: gone",
	}))
}
