package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	. "github.com/onsi/gomega/gstruct"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// The story of one outage, from before it to after it.
func TestAFallbackStandsInUntilARealEndpointIsReady(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service, real := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Expect(w.fallbacks(service)).To(BeEmpty())

	w.Delete(real)
	w.PublishEndpoints(service)
	fallback := w.fallback(service)
	w.Expect(fallback.Name).To(Equal("service-watcher-web"))
	w.Expect(fallback.Labels).To(Equal(map[string]string{
		"app": "web", "app.kubernetes.io/component": "fallback", criticalv2.LabelFallbackFor: "web",
	}))
	w.Expect(fallback.Annotations).To(MatchKeys(IgnoreExtras, Keys{
		"service-watcher": Equal("owned"), "example.com/page": Equal("sorry"),
	}))
	w.Expect(fallback.OwnerReferences).To(ConsistOf(MatchFields(IgnoreExtras, Fields{
		"Kind": Equal("CriticalService"), "UID": Equal(policy.UID), "Controller": HaveValue(BeTrue()), "BlockOwnerDeletion": BeNil(),
	})))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackStarting"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("False/NotProtected"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("True/Exposed"))

	w.answer(service, fallback)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("True/Covered"))
	w.settle()
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID), "its own ready endpoint must not end it")

	real = w.Pod("web-real", service)
	w.MakeUnready(real)
	w.look(service, func() { w.PublishEndpoints(service) })
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID), "a real Pod that is not ready ends nothing")

	w.MakeReady(real)
	w.PublishEndpoints(service)
	w.Eventually(func() map[string]string { return w.fallback(service).Labels }).ShouldNot(HaveKey("app"), "it leaves the Service first")
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID), "and answers a moment longer")
	w.PublishEndpoints(service)
	w.gone(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Eventually(w.conditionOf(policy, "Outage")).Should(Equal("False/NoOutage"))

	w.Eventually(w.EventsOf(service, "FallbackCreated")).Should(HaveLen(1))
	w.Expect(w.Events(service, "FallbackCreated")[0].Type).To(Equal(corev1.EventTypeWarning))
	w.Eventually(w.EventsOf(service, "FallbackRemoved")).Should(HaveLen(1))
}
