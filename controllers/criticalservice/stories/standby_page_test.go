package stories_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// The story of one outage with a page, from before it to after it.
func TestAPageStandsByAndStandsInUntilARealEndpointIsReady(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.up("web")

	slice := w.slice(service)
	w.Eventually(func() bool { return w.Exists(slice) }).Should(BeTrue(), "a slice is there from the start")
	w.Expect(slice.Endpoints).To(BeEmpty())
	w.Expect(slice.Labels).To(Equal(map[string]string{
		"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": criticalv2.ManagedBy, criticalv2.LabelFallbackKind: "page",
	}))
	w.Expect(slice.Annotations).To(HaveKeyWithValue(criticalv2.AnnotationPage, And(
		ContainSubstring(`"statusCode":503`), ContainSubstring(`"retryAfterSeconds":30`))))
	w.Expect(slice.OwnerReferences).To(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Kind": Equal("CriticalService"), "UID": Equal(policy.UID), "Controller": HaveValue(BeTrue()), "BlockOwnerDeletion": BeNil(),
	})))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/ResponderStarting"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("False/NotProtected"))

	pod := w.responderThatStarts("responder-1")
	w.MakeUnready(pod)
	w.settle()
	w.Expect(w.published(service)()).To(Equal("page: nothing"), "a Pod that is not ready listens nowhere")
	w.MakeReady(pod)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.published(service)()).To(Equal("page: responder-1 on http=20000, standby"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("False/NoOutage"))

	w.fail(service, real)
	w.Eventually(w.published(service)).Should(Equal("page: responder-1 on http=20000, promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("True/Covered"))

	real = w.Pod("web-real", service)
	w.MakeUnready(real)
	w.look(service, func() { w.PublishEndpoints(service) })
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"), "a real Pod that is not ready ends nothing")

	w.MakeReady(real)
	w.PublishEndpoints(service)
	w.Eventually(w.published(service)).Should(Equal("page: responder-1 on http=20000, standby"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("False/NoOutage"))
	w.settle()
	w.Eventually(w.EventsOf(service, "FallbackPromoted")).Should(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Type": Equal(corev1.EventTypeWarning), "Count": BeNumerically("<=", 1), "Message": ContainSubstring(policy.Name),
	})))
	w.Eventually(w.EventsOf(service, "FallbackDemoted")).Should(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Type": Equal(corev1.EventTypeNormal), "Count": BeNumerically("<=", 1),
	})))
}

// "Ready" of a responder Pod says that it listens on its own range. A port beyond
// it needs a Pod of the next range.
func TestAServiceIsNotArmedByAPodThatDoesNotListenOnItsPorts(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, _ := w.up("web")
	w.MakeReady(w.responderThatStarts("narrow", func(p *corev1.Pod) { p.Annotations[criticalv2.AnnotationListeners] = "20001-20063" }))
	w.look(service, func() {})
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/ResponderStarting"))
	w.Eventually(w.published(service)).Should(Equal("page: nothing"))

	w.responder("wide")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.published(service)()).To(Equal("page: wide on http=20000, standby"))
}

// All the ports of a Service are published, each on a listener of its own.
func TestEveryTCPPortOfAServiceIsPublished(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, _ := w.up("web")
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))

	testenv.Update(w.World, service, func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports,
			corev1.ServicePort{Name: "admin", Port: 81, TargetPort: testenv.TargetPort, AppProtocol: new("kubernetes.io/h2c")},
			corev1.ServicePort{Name: "dns", Port: 53, TargetPort: testenv.TargetPort, Protocol: corev1.ProtocolUDP})
	})
	w.Eventually(w.published(service)).Should(Equal("page: responder-1 on admin=20001 http=20000, standby"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
}

// On the way of a failover lies one write, and nothing is asked first; so it is on the
// way back, because a standby answers where nothing else does.
func TestAPromotionAndADemotionAreOneRequestEach(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	w.settle()

	before := len(w.requests())
	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()
	asked := w.since(before)
	w.Expect(asked[0]).To(Equal("PATCH " + w.podSlicePath(service)))
	w.Expect(slices.Compact(slices.Clone(asked[1:]))).To(Equal([]string{"PATCH " + statusPath(policy)}), "%q", asked)

	before = len(w.requests())
	w.recover(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.settle()
	w.Expect(w.since(before)).To(HaveExactElements("PATCH "+w.podSlicePath(service), "PATCH "+statusPath(policy)))
}

// What the operator protects is not its own: neither the Service nor what runs
// behind it, nor what routes to it, is ever written to.
func TestWhatIsProtectedIsNeverWrittenTo(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: service.Spec.Selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: service.Spec.Selector}, Spec: testenv.PodSpec()},
		},
	}
	ingress := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
	w.Create(deployment)
	w.Create(ingress)
	versions := func() []string {
		var texts []string
		for _, object := range []client.Object{service, deployment, ingress} {
			w.Expect(w.Exists(object)).To(BeTrue())
			texts = append(texts, object.GetResourceVersion())
		}
		return texts
	}
	before := versions()

	for range 2 {
		w.fail(service, real)
		w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
		real = w.recover(service)
		w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	}
	published := w.podSlicePath(service)
	w.Delete(policy)
	w.Eventually(w.published(service)).Should(BeEmpty())
	w.settle()
	w.Expect(versions()).To(Equal(before))

	own := []string{
		"/endpointslices", slicePath(w.slice(service)), published, statusPath(policy), "/" + criticalv2.ResponderName, "/pods/responder-1/status",
	}
	for _, r := range w.writes() {
		w.Expect(slices.ContainsFunc(own, func(path string) bool { return strings.HasSuffix(r.Path, path) })).To(BeTrue(), r.String())
	}
}

func delayed(activation, deactivation time.Duration) func(*criticalv2.CriticalService) {
	return func(p *criticalv2.CriticalService) {
		toPage(p)
		p.Spec.ActivationDelay.Duration, p.Spec.DeactivationDelay.Duration = activation, deactivation
	}
}

// What a delay has waited for outlives the operator: it stands on the slice.
func TestADelaySurvivesARestart(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", delayed(time.Hour, time.Hour))
	service, real := w.armed(policy, "web")

	w.fail(service, real)
	w.Eventually(w.note(service, criticalv2.AnnotationOutageSince)).ShouldNot(BeEmpty())
	began := w.note(service, criticalv2.AnnotationOutageSince)()
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/StandbyServing"), "the proxies of the nodes use it already")
	w.Expect(w.published(service)()).To(HaveSuffix("standby"))

	w.stop()
	w.start(w.complete())
	w.look(service, func() {})
	w.Expect(w.note(service, criticalv2.AnnotationOutageSince)()).To(Equal(began))
	w.Expect(w.published(service)()).To(HaveSuffix("standby"))
	w.Expect(w.writes()).To(BeEmpty())

	w.turn(policy, func(p *criticalv2.CriticalService) { p.Spec.ActivationDelay.Duration = time.Millisecond })
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Expect(w.note(service, criticalv2.AnnotationOutageSince)()).To(Equal(began))

	w.recover(service)
	w.Eventually(w.note(service, criticalv2.AnnotationRecoveredSince)).ShouldNot(BeEmpty())
	w.Expect(w.note(service, criticalv2.AnnotationOutageSince)()).To(BeEmpty())
	began = w.note(service, criticalv2.AnnotationRecoveredSince)()
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"))

	w.stop()
	w.start(w.complete())
	w.look(service, func() {})
	w.Expect(w.note(service, criticalv2.AnnotationRecoveredSince)()).To(Equal(began))
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"))

	w.turn(policy, func(p *criticalv2.CriticalService) { p.Spec.DeactivationDelay.Duration = time.Millisecond })
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.Eventually(w.note(service, criticalv2.AnnotationRecoveredSince)).Should(BeEmpty())
}

// The end of a delay is no event: the operator wakes itself.
func TestADelayEndsByItself(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", delayed(time.Second, time.Second))
	service, real := w.armed(policy, "web")
	w.fail(service, real)
	w.Eventually(w.note(service, criticalv2.AnnotationOutageSince)).ShouldNot(BeEmpty())
	since, err := time.Parse(time.RFC3339Nano, w.note(service, criticalv2.AnnotationOutageSince)())
	w.Expect(err).NotTo(HaveOccurred())
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Eventually(w.EventsOf(service, "FallbackPromoted")).Should(HaveLen(1))
	w.Expect(w.Events(service, "FallbackPromoted")[0].EventTime.Time).To(BeTemporally(">=", since.Add(time.Second)))
	recovered := time.Now()
	w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.settle()
	w.Eventually(w.EventsOf(service, "FallbackDemoted")).Should(HaveLen(1))
	w.Expect(w.Events(service, "FallbackDemoted")[0].EventTime.Time).To(BeTemporally(">=", recovered.Add(time.Second)))
}

// An outage that is over before the delay is leaves nothing behind.
func TestAnOutageWithinTheDelayPromotesNothing(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", delayed(time.Hour, 0))
	service, real := w.armed(policy, "web")
	w.fail(service, real)
	w.Eventually(w.note(service, criticalv2.AnnotationOutageSince)).ShouldNot(BeEmpty())
	w.recover(service)
	w.Eventually(w.note(service, criticalv2.AnnotationOutageSince)).Should(BeEmpty())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.settle()
	w.Expect(w.Events(service, "FallbackPromoted")).To(BeEmpty())
	w.Expect(w.Events(service, "FallbackDemoted")).To(BeEmpty())
}
