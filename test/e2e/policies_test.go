//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

func TestServicesOfTheSameNameInTwoNamespacesAreIndependent(t *testing.T) {
	t.Parallel()
	north, south := newWorld(t), newWorld(t)
	match := labels{"critical": north.name("everywhere")}
	shops := map[*world]*service{north: north.service("shop", labelled(match)), south: south.service("shop", labelled(match))}
	policy := north.policy(north.name("everywhere"), "", match)
	for _, shop := range shops {
		shop.policy = policy
	}
	northPod, southPod := north.pod("north", labels{"app": "shop"}), south.pod("south", labels{"app": "shop"})
	shops[north].armed("north")
	shops[south].armed("south")

	// The outage of the one is not the other's.
	north.remove(northPod)
	shops[north].covered()
	shops[south].staysWithoutFallback()
	shops[south].answeredBy("south")

	// And the return of the one does not end the other's outage.
	south.remove(southPod)
	fallback := shops[south].covered()
	north.pod("north-again", labels{"app": "shop"})
	shops[north].armed("north-again")
	shops[south].keeps(fallback)
	shops[south].answeredBy(fallbackName)
}

func TestACriticalServiceOfOneNamespaceLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	north, south := newWorld(t), newWorld(t)
	named, other := north.service("shop"), south.service("shop")
	other.policy = named.critical().policy

	named.covered()
	other.staysWithoutFallback()
	north.Expect(other.detail(other.policy)()).To(BeZero(), "what the status says of the other Service")
}

func TestASelectorThatChangesInMidOutageIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").critical()
	fallback := shop.covered()

	stop := shop.probe()
	change(w, shop.object, func(s *corev1.Service) { s.Spec.Selector = labels{"tier": "web"} })
	w.Eventually(shop.fallbacks).Should(HaveExactElements(And(
		HaveField("UID", fallback.UID),
		HaveField("Labels", And(HaveKeyWithValue("tier", "web"), Not(HaveKey("app")))),
	)), "the fallback that answers goes on, with the new labels only")
	shop.covered()
	stop()

	// What the old selector chose is no longer the Service's.
	w.pod("old", labels{"app": "shop"})
	w.Eventually(w.podsRunning("app", "shop")).Should(Equal(1))
	shop.keeps(fallback)
	w.pod("new", labels{"tier": "web"})
	shop.armed("new")
}

func TestAServicesOwnerOptsOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").critical()
	shop.covered()

	change(w, shop.object, func(s *corev1.Service) {
		s.Annotations = labels{criticalv2.AnnotationCriticalService: criticalv2.OptOut}
	})
	shop.becomes(criticalv2.StateIgnored, criticalv2.ReasonOptedOut, "opted out")
	shop.noFallback()
	shop.answeredByNoOne()
	shop.staysWithoutFallback()

	change(w, shop.object, func(s *corev1.Service) { delete(s.Annotations, criticalv2.AnnotationCriticalService) })
	shop.covered()
}

func TestAServiceThatNoLongerMatchesLosesItsFallback(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop").critical()
	shop.covered()

	change(w, shop.object, func(s *corev1.Service) { s.Labels = nil })
	shop.noFallback()
	w.Eventually(shop.detail(shop.policy)).Should(BeZero())
	shop.condition(criticalv2.ConditionReady, metav1.ConditionTrue, criticalv2.ConditionReasonNoServices)
}

func TestOfTwoCriticalServicesTheFirstByNameGoverns(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop")
	second := w.policy(w.name("b"), w.namespace, shop.object.Labels)
	shop.policy = second
	fallback := shop.covered()

	// One that comes first by name takes the fallback over as it is.
	first := w.policy(w.name("a"), w.namespace, shop.object.Labels)
	shop.becomesBy(second, criticalv2.StateIgnored, criticalv2.ReasonOverridden, first.Name)
	shop.conditionOf(second, criticalv2.ConditionOverridden, metav1.ConditionTrue, criticalv2.ConditionReasonFirstByName, first.Name)
	shop.conditionOf(first, criticalv2.ConditionOverridden, metav1.ConditionFalse, criticalv2.ConditionReasonNotOverridden)
	shop.policy = first
	w.Expect(shop.covered().UID).To(Equal(fallback.UID))
	w.Eventually(shop.owner).Should(Equal(first.Name))

	// When the first goes, the second takes its place.
	w.remove(first)
	shop.policy = second
	shop.covered()
	w.Eventually(shop.owner).Should(Equal(second.Name))
	shop.conditionOf(second, criticalv2.ConditionOverridden, metav1.ConditionFalse, criticalv2.ConditionReasonNotOverridden)
}

// owner is the name of the CriticalService that owns the fallback.
func (s *service) owner(g Gomega) string {
	pods := s.fallbacks(g)
	g.Expect(pods).To(HaveLen(1))
	controller := metav1.GetControllerOf(&pods[0])
	g.Expect(controller).NotTo(BeNil())
	return controller.Name
}

func TestAFallbackThatWouldListenOnAnotherPortIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shop := w.service("shop", dialling(9999)).critical()

	shop.becomes(criticalv2.StateExposed, criticalv2.ReasonPortMismatch, "9999", "8080")
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionFalse, criticalv2.ReasonPortMismatch, "9999", "8080")
	w.Eventually(w.warnings("Service", "shop", criticalv2.ReasonPortMismatch)).Should(
		HaveExactElements(And(ContainSubstring("9999"), ContainSubstring("8080"))))
	shop.staysWithoutFallback()

	change(w, shop.object, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(8080) })
	shop.covered()
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionTrue, criticalv2.ConditionReasonFallbackPrepared)
}
