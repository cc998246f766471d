package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// listensOn3000 is a template whose Pods listen elsewhere than the application,
// and carry its labels, which they must not.
func listensOn3000(template *corev1.PodTemplate) {
	template.Template.Labels = map[string]string{"app": "web", "example.com/kind": "fallback"}
	template.Template.Spec.Containers[0].Ports[0].ContainerPort = 3000
}

// The story of one outage with a Pod that is made in it and published.
func TestAPodOnDemandIsPublishedUntilARealEndpointIsReady(t *testing.T) {
	w := withResponder(t)
	w.template(listensOn3000)
	w.start(w.complete())
	policy := w.policy("shop", w.toPod(criticalv2.ActivationOnDemand))
	service, real := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Expect(w.fallbacks(service)).To(BeEmpty())
	w.Eventually(w.published(service)).Should(Equal("podTemplate: nothing"))

	w.fail(service, real)
	fallback := w.fallback(service)
	w.Expect(fallback.Labels).To(Equal(map[string]string{"example.com/kind": "fallback", criticalv2.LabelFallbackFor: "web"}))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackStarting"))
	w.Expect(w.published(service)()).To(Equal("podTemplate: nothing"), "a Pod that is not ready is no endpoint")

	w.MakeReady(fallback)
	w.Eventually(w.published(service)).Should(Equal("podTemplate: service-watcher-web on http=3000, promoted"))
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.podSlice(service).Endpoints[0].Addresses).To(ConsistOf(fallback.Status.PodIP))

	real = w.recover(service)
	w.Eventually(w.published(service)).ShouldNot(HaveSuffix("promoted"), "it is out of the way at once")
	w.Expect(w.Exists(fallback)).To(BeTrue(), "and answers a moment longer")
	w.gone(service)
	w.Eventually(w.published(service)).Should(Equal("podTemplate: nothing"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.settle()
	for _, reason := range []string{"FallbackCreated", "FallbackPromoted", "FallbackDemoted", "FallbackRemoved"} {
		w.Eventually(w.EventsOf(service, reason)).Should(HaveLen(1), reason)
	}

	w.fail(service, real)
	w.MakeReady(w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
}

// A Pod that runs before the outage is promoted like a page: with one write.
func TestAStandbyPodIsThereBeforeTheOutage(t *testing.T) {
	w := withResponder(t)
	w.template(listensOn3000)
	w.start(w.complete())
	policy := w.policy("shop", w.toPod(criticalv2.ActivationStandby))
	service, real := w.up("web", func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromString("http") })
	fallback := w.fallback(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Arming/FallbackStarting"))
	w.Expect(fallback.Labels).NotTo(HaveKey("app"), "it must not take traffic before the outage")
	w.MakeReady(fallback)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.published(service)()).To(Equal("podTemplate: service-watcher-web on http=3000, standby"))
	w.settle()

	before := len(w.requests())
	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.since(before)[0]).To(Equal("PATCH " + w.podSlicePath(service)))
	w.Expect(w.published(service)()).To(HaveSuffix("promoted"))

	w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.settle()
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID), "it stays for the next outage")
}

func TestAStandbyPodThatFailsIsReplaced(t *testing.T) {
	t.Parallel()
	for name, inOutage := range map[string]bool{"before the outage": false, "in the outage": true} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.template()
			w.start(w.complete())
			policy := w.policy("shop", w.toPod(criticalv2.ActivationStandby))
			service, real := w.up("web")
			fallback := w.fallback(service)
			w.MakeReady(fallback)
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
			if inOutage {
				w.fail(service, real)
				w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
			}
			promoted := w.published(service)()

			w.PodStatus(fallback, func(s *corev1.PodStatus) { s.Phase, s.Reason = corev1.PodFailed, "Evicted" })
			w.Eventually(w.published(service)).Should(Equal("podTemplate: nothing"), "a dead endpoint is none")
			w.Eventually(func() bool { return w.fallback(service).UID != fallback.UID }).Should(BeTrue())
			w.MakeReady(w.fallback(service))
			w.Eventually(w.published(service)).Should(Equal(promoted))
		})
	}
}

// A standby Pod follows its template while it is not needed, and not in an outage.
func TestAStandbyPodFollowsItsTemplate(t *testing.T) {
	w := withResponder(t)
	template := w.template()
	w.start(w.complete())
	policy := w.policy("shop", w.toPod(criticalv2.ActivationStandby))
	service, real := w.up("web")
	first := w.fallback(service)
	w.MakeReady(first)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.fail(service, real)
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))

	w.look(service, func() {
		testenv.Update(w.World, template, func(o *corev1.PodTemplate) { o.Template.Spec.Containers[0].Ports[0].ContainerPort = 3000 })
	})
	w.Expect(w.fallback(service).UID).To(Equal(first.UID))
	w.Expect(w.published(service)()).To(Equal("podTemplate: service-watcher-web on http=8080, promoted"), "what runs is published, and not what is to run")

	w.recover(service)
	w.Eventually(func() bool { return w.fallback(service).UID != first.UID }).Should(BeTrue())
	w.MakeReady(w.fallback(service))
	w.Eventually(w.published(service)).Should(Equal("podTemplate: service-watcher-web on http=3000, standby"))
}

// Clients of a headless Service dial the Pod itself: only a Pod that listens on
// the very port can stand in.
func TestAHeadlessServiceIsProtectedByAPod(t *testing.T) {
	w := withResponder(t)
	w.template()
	w.start(w.complete())
	policy := w.policy("shop", w.toPod(criticalv2.ActivationStandby))
	service, real := w.up("web", func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
	w.MakeReady(w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.existing(service).Labels).To(HaveKey(corev1.IsHeadlessService))
	w.fail(service, real)
	w.Eventually(w.published(service)).Should(Equal("podTemplate: service-watcher-web on http=8080, promoted"))
}
