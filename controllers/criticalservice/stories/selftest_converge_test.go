package stories_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// The story of a Service with two IP families, whose page is tested while it stands by, and is published and withdrawn after
// delays, is lived again and again; each time another write of the operator goes wrong.
func TestAStandbyIsTestedWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 8, (*world).selfTest)
}

// selfTest lives that story under an operator of its own, and describes the end.
func (w *world) selfTest(fate *testenv.Fate) string {
	w.T.Helper()
	const ipv4, ipv6 = "10.2.0.1", "fd00::1"
	n := newNetwork()
	w.beginFated(fate, n.tests)

	policy := w.policy("a", delayed(time.Second, time.Second))
	service, real := w.up("web", func(s *corev1.Service) { s.Spec.IPFamilyPolicy = new(corev1.IPFamilyPolicyRequireDualStack) })
	pod := w.responderThatStarts("responder-1")
	w.PodStatus(pod, func(s *corev1.PodStatus) { s.PodIP, s.PodIPs = ipv4, []corev1.PodIP{{IP: ipv4}, {IP: ipv6}} })
	n.listen(ipv4+":20000", "["+ipv6+"]:20000")
	w.MakeReady(pod)
	w.Eventually(w.endpoints(service)).Should(HaveExactElements("10.2.0.1 standby", "fd00::1 standby"))
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))

	w.fail(service, real)
	w.Eventually(w.endpoints(service)).Should(HaveExactElements("10.2.0.1 promoted", "fd00::1 promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	w.recover(service)
	w.Eventually(w.endpoints(service)).Should(HaveExactElements("10.2.0.1 standby", "fd00::1 standby"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))

	n.off("[" + ipv6 + "]:20000")
	w.Eventually(w.failoverReady(policy)).Should(HavePrefix("False/StandbySilent"))
	n.listen("[" + ipv6 + "]:20000")
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.atRest(fate)
	w.Eventually(w.failoverReady(policy)).Should(Equal(oneAnswers))
	return fmt.Sprintln(w.endpoints(service)()) + w.describe(policy)
}

// endpoints are the addresses that the standby slices of a Service publish, with how they do.
func (w *world) endpoints(service *corev1.Service) func() []string {
	return func() []string {
		var list discoveryv1.EndpointSliceList
		w.Expect(w.Cluster.Client.List(w.T.Context(), &list, client.InNamespace(service.Namespace), client.MatchingLabels{
			discoveryv1.LabelServiceName: service.Name, discoveryv1.LabelManagedBy: criticalv2.ManagedBy,
		})).To(Succeed())
		var all []string
		for _, slice := range list.Items {
			for _, endpoint := range slice.Endpoints {
				is := "standby"
				if *endpoint.Conditions.Ready {
					is = "promoted"
				}
				all = append(all, endpoint.Addresses[0]+" "+is)
			}
		}
		slices.Sort(all)
		return all
	}
}
