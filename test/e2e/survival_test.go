//go:build e2e

package e2e

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/prober"
)

// These scenarios take away what all others share, the operator or its PodTemplate. They are not
// parallel: Go runs them one by one, before the parallel ones.

func TestACriticalServiceDeletedWhileTheOperatorIsDownLeavesNoOrphan(t *testing.T) {
	w := newWorld(t)
	shop := w.service("shop").critical()
	shop.covered()

	start := w.stopOperator()
	shop.answeredBy(fallbackName)
	w.remove(shop.policy)
	shop.noFallback()
	shop.answeredByNoOne()

	start()
	shop.staysWithoutFallback()
}

// The responder of a namespace goes with the last that governs a Service there.
func TestServiceFallbacksDeletedWhileTheOperatorIsDownLeaveNoOrphan(t *testing.T) {
	w := newWorld(t)
	team := w.asTeam()
	shop, cart := team.service("shop").withTeam(team.Client, pageSentence), team.service("cart").withTeam(team.Client, pageSentence)
	shop.standsIn(thePage)
	cart.standsIn(thePage)
	ownedBy := func(names ...string) map[string][]string {
		return map[string][]string{"ConfigMap": names, "Deployment": names, "PodDisruptionBudget": names}
	}
	w.Eventually(w.responderOwners).Should(Equal(ownedBy("cart", "shop")))

	start := w.stopOperator()
	shop.answeredBy(thePage)
	w.Expect(shop.ownedSlices(w)).NotTo(BeEmpty())
	team.remove(shop.policy)
	w.Eventually(shop.ownedSlices).Should(BeEmpty(), "slices of the ServiceFallback")
	w.Eventually(w.responderOwners).Should(Equal(ownedBy("cart")))
	cart.answeredBy(thePage)

	team.remove(cart.policy)
	w.Eventually(w.responderOwners).Should(BeEmpty(), "the objects of the responder")
	w.Eventually(w.published).Should(BeEmpty(), "addresses")
	shop.answeredByNoOne()
	cart.answeredByNoOne()

	start()
	w.Consistently(func(g Gomega) {
		g.Expect(w.responderOwners(g)).To(BeEmpty())
		g.Expect(w.published(g)).To(BeEmpty())
	}).Should(Succeed(), "the operator makes nothing again")
}

// responderOwners are the names of the owners of each object of the responder that there is, by kind.
func (w *world) responderOwners(g Gomega) map[string][]string {
	owners := map[string][]string{}
	for kind, object := range map[string]client.Object{"ConfigMap": &corev1.ConfigMap{}, "Deployment": &appsv1.Deployment{}, "PodDisruptionBudget": &policyv1.PodDisruptionBudget{}} {
		err := w.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: criticalv2.ResponderName}, object)
		g.Expect(client.IgnoreNotFound(err)).To(Succeed())
		if err != nil {
			continue
		}
		owners[kind] = []string{}
		for _, owner := range object.GetOwnerReferences() {
			owners[kind] = append(owners[kind], owner.Name)
		}
		slices.Sort(owners[kind])
	}
	return owners
}

// ownedSlices are the names of the Service's slices that belong to a ServiceFallback.
func (s *service) ownedSlices(g Gomega) []string {
	var names []string
	for _, slice := range s.slices(g) {
		if owner := metav1.GetControllerOf(&slice); owner != nil && owner.Kind == criticalv2.ServiceFallbackKind.Kind {
			names = append(names, slice.Name)
		}
	}
	return names
}

func TestAnOperatorThatIsKilledInMidOutageFindsEverythingAsItWas(t *testing.T) {
	w := newWorld(t)
	shop := w.service("shop").critical()
	fallback := shop.covered()

	stop := shop.probe()
	w.killOperator()
	shop.keeps(fallback)
	w.Expect(prober.Summarise(stop()).Faults).To(BeEmpty(), "the fallback needs no operator to answer")

	// The new one has taken over: it ends this outage, and sees the next.
	app := w.pod("shop", labels{"app": "shop"})
	shop.armed("shop")
	w.remove(app)
	w.Expect(shop.covered().UID).NotTo(Equal(fallback.UID))
}

func TestAnOutageThatBeginsWhileTheOperatorIsDownIsSeenAtItsStart(t *testing.T) {
	w := newWorld(t)
	app := w.pod("shop", labels{"app": "shop"})
	shop := w.service("shop").critical()
	shop.armed("shop")

	start := w.stopOperator()
	w.remove(app)
	shop.answeredByNoOne()
	start()
	shop.covered()
}

func TestThePageStandsInForAPodTemplateThatIsMissing(t *testing.T) {
	w := newWorld(t)
	app := w.pod("shop", labels{"app": "shop"})
	shop := w.service("shop").critical()
	shop.armed("shop")

	// It is known before the outage, and no hole in the protection.
	restore := func() { w.Expect(applyTemplate(w.ctx)).To(Succeed()) }
	t.Cleanup(restore)
	w.Expect(deleteTemplate(w.ctx)).To(Succeed())
	shop.becomes(criticalv2.StateArmed, criticalv2.ReasonTemplateNotFound, templateName, operatorNamespace, "create it")

	w.remove(app)
	shop.becomes(criticalv2.StateCovered, criticalv2.ReasonTemplateNotFound, templateName, operatorNamespace, "create it")
	shop.answeredBy(theBuiltInPage)
	shop.condition(criticalv2.ConditionFallbackReady, metav1.ConditionFalse, criticalv2.ReasonTemplateNotFound, templateName)
	w.Eventually(w.warnings("CriticalService", shop.policy.GetName(), criticalv2.ReasonTemplateNotFound)).Should(
		HaveExactElements(And(ContainSubstring(templateName), ContainSubstring("create it"))))
	shop.staysWithoutFallback()

	// The operator watches for it: well before any retry, the fallback is made, and takes over without a gap.
	stop := shop.probe()
	restore()
	w.Eventually(shop.fallbacks, 30*time.Second).Should(HaveExactElements(
		HaveField("Status.Phase", Or(Equal(corev1.PodPending), Equal(corev1.PodRunning)))))
	shop.covered()
	w.Expect(prober.Summarise(stop()).Faults).To(BeEmpty(), "requests that no one answered")
}

// TestADrainTakesOneReplicaOfTheOperatorAtATime begins with the one that leads.
func TestADrainTakesOneReplicaOfTheOperatorAtATime(t *testing.T) {
	w := newWorld(t)
	app := w.deployment("shop")
	shop := w.service("shop").withPage().ready()
	pods := w.operatorPods(w)
	w.Expect(pods).To(HaveLen(2), "the replicas that are shipped")
	var lease coordinationv1.Lease
	w.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}, &lease)).To(Succeed())
	leads := slices.IndexFunc(pods, func(pod corev1.Pod) bool { return pod.Name == *lease.Spec.HolderIdentity })
	w.Expect(leads).NotTo(Equal(-1), "the leader is one of them")
	first, second := &pods[leads], &pods[1-leads]

	w.Eventually(w.evict).WithArguments(first).Should(Succeed())
	w.Expect(w.evict(second)).To(Satisfy(apierrors.IsTooManyRequests), "the budget protects the other one")
	w.scale(app, 0)
	shop.standsIn(thePage) // The other one has taken over, and promotes.

	w.Eventually(w.evict).WithArguments(second).Should(Succeed(), "the drain goes on when the first is replaced")
	w.Eventually(w.operatorPods).ShouldNot(ContainElement(HaveField("UID", BeElementOf(first.UID, second.UID))))
	w.Expect(operatorRuns(w.ctx)).To(Succeed())
	w.scale(app, 1)
	shop.standsBy("shop")
}
