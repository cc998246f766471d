package observe

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Any user can label a Pod so that it is cached.
func TestThePodsOfOthersTakeLittleMemory(t *testing.T) {
	g := NewWithT(t)
	large := strings.Repeat("x", 200_000)
	slim := slimPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs", Annotations: map[string]string{
			"example.com/notes": large, criticalv2.AnnotationSelector: large, criticalv2.AnnotationOwned: criticalv2.Owned,
		}, Finalizers: slices.Repeat([]string{"example.com/hold"}, 10_000)},
		Spec: corev1.PodSpec{
			NodeName: "node-1",
			Containers: []corev1.Container{{
				Name: "app", Image: "nginx", Args: []string{large}, Env: []corev1.EnvVar{{Name: "A", Value: large}},
				Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}},
	})
	text, err := json.Marshal(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<", 1000))
	g.Expect(slim).To(HaveField("ObjectMeta.Annotations", Equal(map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned})))
	g.Expect(slim).To(HaveField("Spec.Containers", ConsistOf(HaveField("Ports", HaveLen(1)))))
	g.Expect(slim).To(HaveField("Status.PodIPs", HaveLen(1)))
	g.Expect(slim).To(HaveField("ObjectMeta.Finalizers", HaveEach("example.com/hold")), "who holds it is named")
}

// Kubernetes bounds neither the number of labels nor that of ports.
func TestObjectsThatAreTooLargeAreKeptByName(t *testing.T) {
	many := map[string]string{}
	for i := range 10_000 {
		many[fmt.Sprintf("example.com/label-%d", i)] = "x"
	}
	named := metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1", ResourceVersion: "2"}
	labelled := named
	labelled.Labels = many

	t.Run("a Service with many labels", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(slimService(&corev1.Service{ObjectMeta: labelled})).To(Equal(&corev1.Service{ObjectMeta: named}))
	})
	t.Run("a Service with many ports", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(slimService(&corev1.Service{ObjectMeta: named, Spec: corev1.ServiceSpec{Ports: make([]corev1.ServicePort, 10_000)}})).
			To(Equal(&corev1.Service{ObjectMeta: named}))
	})
	t.Run("a Pod with many labels", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(slimPod(&corev1.Pod{ObjectMeta: labelled})).To(Equal(&corev1.Pod{ObjectMeta: named}))
	})
	t.Run("the slice of a Service with many labels, which it gets too", func(t *testing.T) {
		g := NewWithT(t)
		of := named
		of.Labels = map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
		copied := named
		copied.Labels = maps.Clone(many)
		maps.Copy(copied.Labels, of.Labels)
		g.Expect(slimSlice(&discoveryv1.EndpointSlice{ObjectMeta: copied})).
			To(Equal(&discoveryv1.EndpointSlice{ObjectMeta: of, Endpoints: []discoveryv1.Endpoint{}}))
	})
	t.Run("the slice of a Service with many ports, which it gets too", func(t *testing.T) {
		g := NewWithT(t)
		slim := slimSlice(&discoveryv1.EndpointSlice{ObjectMeta: named, Ports: make([]discoveryv1.EndpointPort, 10_000)})
		g.Expect(slim.Ports).To(Equal([]discoveryv1.EndpointPort{}), "none, and not nil, which is all ports")
	})
	t.Run("a Pod with many containers", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(slimPod(&corev1.Pod{ObjectMeta: named, Spec: corev1.PodSpec{Containers: make([]corev1.Container, 100)}})).To(Equal(&corev1.Pod{ObjectMeta: named}))
	})
	t.Run("a Pod with long messages is kept without their ends", func(t *testing.T) {
		g := NewWithT(t)
		long := strings.Repeat("x", 10_000)
		ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Message: long}}
		slim := slimPod(&corev1.Pod{ObjectMeta: named, Status: corev1.PodStatus{
			Message: long, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Message: long}},
			ContainerStatuses: []corev1.ContainerStatus{{Name: "a", State: ended, LastTerminationState: ended}},
		}})
		g.Expect(slim.Status.Conditions).To(HaveLen(1))
		g.Expect(slim.Size()).To(BeNumerically("<", 5_000))
		g.Expect(ended.Terminated.Message).To(HaveLen(10_000), "what was read is not changed")
	})
	t.Run("a PodTemplate whose Pods would be too large", func(t *testing.T) {
		g := NewWithT(t)
		usual := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 3)}}
		g.Expect(IsTooLarge(&usual)).To(BeFalse())
		usual.Labels = many
		g.Expect(IsTooLarge(&usual)).To(BeTrue())
		g.Expect(IsTooLarge(&corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Ports: make([]corev1.ContainerPort, 200)}}}})).To(BeTrue())
	})
	t.Run("a Service with a hundred ports and 60 labels is kept whole", func(t *testing.T) {
		g := NewWithT(t)
		service := &corev1.Service{ObjectMeta: named}
		service.Labels = map[string]string{}
		for i := range 100 {
			if i < 60 {
				service.Labels[fmt.Sprintf("example.com/label-%d", i)] = "some value"
			}
			service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("port-%d", i), Protocol: corev1.ProtocolTCP, Port: 8080, NodePort: 32000})
		}
		g.Expect(slimService(service)).To(And(HaveField("Labels", HaveLen(60)), HaveField("Spec.Ports", HaveLen(100))))
	})
}
