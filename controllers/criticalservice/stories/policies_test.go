package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestOfTwoPoliciesTheFirstByNameGoverns(t *testing.T) {
	w := sideBySide(t)
	second := w.policy("b")
	first := w.policy("a")
	service, fallback := w.covered("web")

	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(second, service)).Should(Equal("Ignored/Overridden"))
	w.Expect(w.detailOf(second, service).Message).To(ContainSubstring(first.Name))
	w.Eventually(w.conditionOf(first, "Overridden")).Should(Equal("False/NotOverridden"))
	w.Eventually(w.conditionOf(second, "Overridden")).Should(Equal("True/FirstByName"))
	w.Eventually(w.conditionOf(second, "Outage")).Should(Equal("False/NoOutage"))
	w.Eventually(func() bool { return metav1.IsControlledBy(w.fallback(service), first) }).Should(BeTrue())

	w.Delete(first)
	w.Eventually(func() bool { return metav1.IsControlledBy(w.fallback(service), second) }).Should(BeTrue(), "the second must take over")
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID), "and the Pod that answers must stay")
	w.Eventually(w.stateOf(second, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.conditionOf(second, "Overridden")).Should(Equal("False/NotOverridden"))
	w.settle()
	w.Expect(w.fallback(service).OwnerReferences).To(HaveLen(1))
}

func TestAPolicyThatComesFirstByNameTakesOverInMidOutage(t *testing.T) {
	w := sideBySide(t)
	second := w.policy("b")
	service, fallback := w.covered("web")
	w.Eventually(w.stateOf(second, service)).Should(Equal("Covered/FallbackServing"))

	first := w.policy("a")
	w.Eventually(w.stateOf(second, service)).Should(Equal("Ignored/Overridden"))
	w.Eventually(w.stateOf(first, service)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(func() bool { return metav1.IsControlledBy(w.fallback(service), first) }).Should(BeTrue())
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
}

func TestAStatusFollowsTheServicesThatComeAndGo(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/NoServices"))
	w.Expect(w.statusOf(policy).ObservedGeneration).To(Equal(policy.Generation))

	service, _ := w.up("web")
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/Protected"))
	w.Expect(w.statusOf(policy).Services).To(Equal(criticalv2.ServiceCounts{Total: 1, Armed: 1}))
	w.Delete(service)
	w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("True/NoServices"))
	w.Expect(w.statusOf(policy).Services).To(Equal(criticalv2.ServiceCounts{}))
}

// "Since" is when a state began: news about a state do not move it.
func TestSinceMovesOnlyWithTheState(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.down("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackStarting"))
	exposed := w.detailOf(policy, service).Since

	fallback := w.fallback(service)
	w.PodStatus(fallback, func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "no such image"},
		}}}
	})
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackFailing"))
	w.Expect(w.detailOf(policy, service).Message).To(And(ContainSubstring("ImagePullBackOff"), ContainSubstring("no such image")))
	w.Eventually(w.conditionOf(policy, "FallbackReady")).Should(Equal("False/FallbackFailing"))
	w.Expect(w.detailOf(policy, service).Since).To(Equal(exposed))
	w.Eventually(w.EventsOf(service, "FallbackFailing")).Should(HaveLen(1))
}
