package responder_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder"
	"github.com/critical-service/operator/test/testenv"
)

func TestTheResponderComesAndGoesWithTheSlices(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.Service("other")
	w.look()
	w.Expect(w.there()).To(BeEmpty(), "nothing asks for it")

	_, first := w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http"}))
	deployment := w.deployment()
	w.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(Equal(standard.Image))
	w.Expect(deployment.OwnerReferences).To(HaveLen(1))
	w.Expect(deployment.OwnerReferences[0].Name).To(Equal(w.Unique("shop")))
	w.Eventually(func() []string { return w.events(w.Namespace, criticalv2.ResponderName, "ResponderCreated") }).Should(HaveLen(1))

	_, second := w.critical("api", criticalv2.PageFallback{Replicas: new(int32(3)), Message: "Soon."})
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 api/http"}))
	w.Eventually(func() *int32 { return w.deployment().Spec.Replicas }).Should(HaveValue(BeEquivalentTo(3)))
	w.Expect(w.table().Listeners[1].Page.Message).To(Equal("Soon."))

	w.Delete(second)
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http"}))
	w.Eventually(func() *int32 { return w.deployment().Spec.Replicas }).Should(HaveValue(BeEquivalentTo(2)))
	w.Delete(first)
	w.Eventually(w.there).Should(BeEmpty())
	w.Eventually(func() []string { return w.events(w.Namespace, criticalv2.ResponderName, "ResponderRemoved") }).Should(HaveLen(1))
}

func TestOnlySlicesThatAskForAPageCount(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	service := w.Service("web")
	w.Slice(service, "real")
	slice := w.asking("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())

	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) {
		s.Labels[criticalv2.LabelFallbackKind] = criticalv2.FallbackKindPodTemplate
	})
	w.Eventually(w.there).Should(BeEmpty())
}

func TestAServicesPortsAndPageAreFollowed(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	service, slice := w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)

	testenv.Update(w.World, service, func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports,
			corev1.ServicePort{Name: "grpc", Port: 81, TargetPort: intstr.FromInt32(8081), AppProtocol: new("kubernetes.io/h2c")},
			corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(8053)})
	})
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 web/grpc"}))
	w.Expect(w.table().Listeners[1].AppProtocol).To(Equal("kubernetes.io/h2c"))
	w.Expect(w.table().Listeners[1].ServicePort).To(BeEquivalentTo(81))

	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) {
		s.Ports = []discoveryv1.EndpointPort{{Name: new("grpc"), Port: new(int32(20001)), Protocol: new(corev1.ProtocolTCP)}}
	})
	w.look() // The operator knows who publishes a port before the Service loses it.
	testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })
	w.look()
	w.Expect(w.numbers()).To(Equal([]string{"20000 web/http", "20001 web/grpc"}), "clients are still sent to it")
	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) { s.Ports = nil })
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http"}))
	w.current().Settled(w.World)

	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) {
		s.Annotations[criticalv2.AnnotationPage] = `{"message":"Tomorrow."}`
	})
	w.Eventually(func() string { return w.table().Listeners[0].Page.Message }).Should(Equal("Tomorrow."))
}

// fill makes Services, each with 50 ports and a slice, until there are so many
// listeners.
func (w *world) fill(prefix string, listeners int) {
	w.T.Helper()
	for i := range (listeners + 49) / 50 {
		name := fmt.Sprintf("%s-%03d", prefix, i)
		w.Service(name, func(s *corev1.Service) {
			s.Spec.Ports = nil
			for port := range min(50, listeners-i*50) {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", port), Port: int32(1000 + port)})
			}
		})
		w.asking(name, *criticalv2.DefaultPage())
	}
}

func TestTheRangeGrowsAndNumbersStay(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.fill("few", 64)
	w.Eventually(func() int { return len(w.numbers()) }).Should(Equal(64))
	w.current().Settled(w.World)
	w.Expect(w.listens()).To(Equal("20000-20063"))
	few := w.numbers()

	w.fill("more", 1)
	w.Eventually(w.listens).Should(Equal("20000-20255"))
	w.Eventually(w.numbers).Should(HaveExactElements(append(elements(few), "20064 more-000/p0")...))

	w.fill("many", 1000)
	w.Eventually(func() int { return len(w.numbers()) }).Should(Equal(1065))
	w.Eventually(w.listens).Should(Equal("20000-24095"))
	w.Expect(w.numbers()).To(ContainElements(elements(few)...))
	w.Eventually(func() []string { return w.events(w.Namespace, criticalv2.ResponderName, "ResponderUpdated") }).ShouldNot(BeEmpty())

	before := w.numbers()
	w.stop()
	w.start(standard)
	w.look()
	w.Expect(w.writes()).To(BeEmpty(), "a restart changes nothing")
	w.Expect(w.numbers()).To(Equal(before))
}

func elements(texts []string) []any {
	var elements []any
	for _, text := range texts {
		elements = append(elements, text)
	}
	return elements
}

func TestContentIsMountedWhenItComes(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.critical("web", criticalv2.PageFallback{ConfigMapName: "storefront-page"})
	w.critical("api", criticalv2.PageFallback{ConfigMapName: "private"})
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "private", Namespace: w.Namespace}})
	mounted := func() []string {
		var names []string
		for _, volume := range w.deployment().Spec.Template.Spec.Volumes {
			names = append(names, volume.ConfigMap.Name)
		}
		return names
	}
	w.Eventually(mounted).Should(Equal([]string{criticalv2.ResponderName}))

	page := w.content("storefront-page", "<h1>Back soon</h1>")
	w.Eventually(mounted).Should(Equal([]string{criticalv2.ResponderName, "storefront-page"}))
	w.current().Settled(w.World)

	pod := w.pod("responder-1")
	version := func() string {
		w.Exists(pod)
		return pod.Annotations[criticalv2.AnnotationContentVersion]
	}
	w.Eventually(version).ShouldNot(BeEmpty())
	w.current().Settled(w.World)

	first := version()
	testenv.Update(w.World, page, func(c *corev1.ConfigMap) { c.Data["index.html"] = "<h1>Tomorrow</h1>" })
	w.Eventually(version).ShouldNot(Equal(first), "new content is fetched at once")
	w.current().Settled(w.World)

	second := version()
	w.critical("shop", criticalv2.PageFallback{})
	w.Eventually(version).ShouldNot(Equal(second), "a new table is fetched at once")
	w.current().Settled(w.World)

	third := version()
	w.content("unasked", "x")
	w.look()
	w.Expect(version()).To(Equal(third), "content that no page names changes nothing")

	testenv.Update(w.World, page, func(c *corev1.ConfigMap) { delete(c.Labels, criticalv2.LabelResponder) })
	w.Eventually(mounted).Should(Equal([]string{criticalv2.ResponderName}), "its owner does not agree any more")
}

func TestASettledWorldIsNotWrittenTo(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	service, slice := w.critical("web", criticalv2.PageFallback{ConfigMapName: "page"})
	w.content("page", "x")
	w.Eventually(func() int { return len(w.deployment().Spec.Template.Spec.Volumes) }).Should(Equal(2))
	pod := w.pod("responder-1")
	w.Eventually(func() string {
		w.Exists(pod)
		return pod.Annotations[criticalv2.AnnotationContentVersion]
	}).ShouldNot(BeEmpty())
	w.current().Settled(w.World)
	before := len(w.writes())
	w.Expect(before).To(BeNumerically(">=", 4), "the writes are counted")

	w.look()
	w.MakeReady(pod)
	testenv.Update(w.World, service, func(s *corev1.Service) { metav1.SetMetaDataAnnotation(&s.ObjectMeta, "example.com/a", "b") })
	testenv.Update(w.World, slice, func(s *discoveryv1.EndpointSlice) {
		s.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(20000)), Protocol: new(corev1.ProtocolTCP)}}
		s.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{pod.Status.PodIP}}}
	})
	w.deploymentStatus(func(status *appsv1.DeploymentStatus) { status.ObservedGeneration = 1 })
	w.look()
	w.Expect(w.writes()[before:]).To(BeEmpty())

	w.stop()
	w.start(standard)
	w.look()
	w.Expect(w.writes()).To(BeEmpty(), "nor after a restart")
}

func (w *world) deploymentStatus(change func(*appsv1.DeploymentStatus)) {
	w.T.Helper()
	w.Eventually(func() error {
		deployment := w.deployment()
		change(&deployment.Status)
		return w.Cluster.Client.Status().Update(w.T.Context(), deployment)
	}).Should(Succeed())
}

func TestWithoutAnImage(t *testing.T) {
	w := newWorld(t)
	w.start(responder.Options{})
	w.critical("web", criticalv2.PageFallback{})
	w.Eventually(func() []string {
		return w.events(metav1.NamespaceDefault, w.Unique("shop"), "ResponderImageUnknown")
	}).Should(ContainElement(ContainSubstring("RESPONDER_IMAGE")))
	w.current().Settled(w.World)
	w.Expect(w.there()).To(BeEmpty())

	w.stop()
	w.start(standard)
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)

	w.stop()
	w.start(responder.Options{})
	w.critical("api", criticalv2.PageFallback{})
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 api/http"}), "what is there goes on")
	w.current().Settled(w.World)
	w.Expect(w.deployment().Spec.Template.Spec.Containers[0].Image).To(Equal(standard.Image))
}

func TestANewOperatorRollsTheResponder(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)
	w.stop()

	w.start(responder.Options{Image: "quay.io/critical-service/operator:next", ImagePullSecrets: []string{"registry"}, PriorityClass: "system-cluster-critical"})
	spec := func() corev1.PodSpec { return w.deployment().Spec.Template.Spec }
	w.Eventually(func() string { return spec().Containers[0].Image }).Should(HaveSuffix(":next"))
	w.Expect(spec().ImagePullSecrets).To(Equal([]corev1.LocalObjectReference{{Name: "registry"}}))
	w.Expect(spec().PriorityClassName).To(Equal("system-cluster-critical"))
	w.current().Settled(w.World)
	w.stop()

	w.start(standard)
	w.Eventually(func() string { return spec().Containers[0].Image }).Should(HaveSuffix(":test"))
	w.Expect(spec().ImagePullSecrets).To(BeEmpty(), "what is not wanted any more goes")
	w.Expect(spec().PriorityClassName).To(BeEmpty())
}

// What happens while the operator is down is made good when it is back.
func TestARestartCatchesUp(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	_, slice := w.critical("web", criticalv2.PageFallback{})
	w.Eventually(w.there).Should(beComplete())
	w.current().Settled(w.World)
	w.stop()

	w.critical("api", criticalv2.PageFallback{})
	w.start(standard)
	w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http", "20001 api/http"}))
	w.current().Settled(w.World)
	w.stop()

	w.Delete(slice)
	w.Delete(&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "api-standby-ipv4", Namespace: w.Namespace}})
	w.start(standard)
	w.Eventually(w.there).Should(BeEmpty())
}
