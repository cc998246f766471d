package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// The story of a standby Pod that is ready, and has ceased to answer: it is replaced before it is needed, and once.
func TestAStandbyPodThatFallsSilentIsReplaced(t *testing.T) {
	w, n := withResponder(t), newNetwork()
	w.template(listensOn3000)
	w.start(w.complete(n.tests))
	policy := w.policy("shop", w.toPod(criticalv2.ActivationStandby))
	service, real := w.up("web")
	first := w.fallback(service)
	w.MakeReady(first)
	address := first.Status.PodIP + ":3000"
	w.Eventually(w.failoverReady(policy)).Should(HavePrefix("False/StandbySilent"))
	w.Eventually(n.asked(address)).Should(BeNumerically(">", 5))
	w.Expect(w.fallback(service).UID).To(Equal(first.UID), "one that never answered is not replaced: another one would not answer either")

	n.listen(address)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	n.off(address)
	w.Eventually(func() []corev1.Pod { return w.fallbacks(service) }).Should(
		HaveExactElements(HaveField("UID", Not(Equal(first.UID)))), "one that ceased to answer is")
	second := w.fallback(service)
	w.MakeReady(second)
	next := second.Status.PodIP + ":3000"
	w.Eventually(w.failoverReady(policy)).Should(HavePrefix("False/StandbySilent"))
	w.Expect(w.fallback(service).UID).To(Equal(second.UID))

	n.listen(next)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	asked := n.asked(next)()
	n.off(next)
	w.Eventually(n.asked(next)).Should(BeNumerically(">", asked+5))
	w.Expect(w.fallback(service).UID).To(Equal(second.UID), "in an outage clients may hear what the operator does not")
}
