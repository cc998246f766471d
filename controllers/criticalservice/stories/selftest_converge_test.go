package stories_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// The story of a Service with two IP families, whose page is tested while it stands by, and is published and withdrawn after
// delays, is lived again and again; each time another write of the operator goes wrong.
func TestAStandbyIsTestedWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 17, (*world).selfTest)
}

// selfTest lives that story under an operator of its own, and describes the end.
func (w *world) selfTest(fate *testenv.Fate) string {
	w.T.Helper()
	const ipv4, ipv6 = "10.2.0.1", "fd00::1"
	const first, second = ipv4 + ":20000", "[" + ipv6 + "]:20000"
	n := newNetwork()
	w.beginFated(fate, n.tests)

	policy := w.policy("a", delayed(time.Second, time.Second))
	service, real := w.up("web", func(s *corev1.Service) { s.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack) })
	pod := w.responderThatStarts("responder-1")
	w.PodStatus(pod, func(s *corev1.PodStatus) { s.PodIP, s.PodIPs = ipv4, []corev1.PodIP{{IP: ipv4}, {IP: ipv6}} })
	n.listen(first, second)
	w.MakeReady(pod)
	w.Eventually(w.endpoints(service)).Should(HaveExactElements("10.2.0.1 standby", "fd00::1 standby"))
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))

	w.fail(service, real)
	w.Eventually(w.endpoints(service)).Should(HaveExactElements("10.2.0.1 promoted", "fd00::1 promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	w.recover(service)
	w.Eventually(w.endpoints(service)).Should(HaveExactElements("10.2.0.1 standby", "fd00::1 standby"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))

	n.off(second)
	w.Eventually(w.failoverReady(policy)).Should(HavePrefix("False/StandbySilent"))
	n.listen(second)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.atRest(fate)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	return fmt.Sprintln(w.endpoints(service)()) + w.describe(policy)
}

// endpoints are the addresses that the slices of Pods which stand by for a Service publish, with how they do.
func (w *world) endpoints(service *corev1.Service) func() []string {
	return func() []string {
		var all []string
		for _, slice := range w.podSlices(service) {
			is := " standby"
			if protection.IsPromoted(&slice) {
				is = " promoted"
			}
			for _, endpoint := range slice.Endpoints {
				all = append(all, endpoint.Addresses[0]+is)
			}
		}
		slices.Sort(all)
		return all
	}
}
