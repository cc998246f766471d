package stories_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// labelNamespace sets a label of the world's namespace, or takes it off.
func (w *world) labelNamespace(key, value string) {
	w.T.Helper()
	testenv.Update(w.World, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}, func(n *corev1.Namespace) {
		delete(n.Labels, key)
		if value != "" {
			metav1.SetMetaDataLabel(&n.ObjectMeta, key, value)
		}
	})
}

// A user who labels a namespace decides over its Services, before an outage and in it.
func TestANamespaceIsChosenByItsLabels(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage, func(p *criticalv2.CriticalService) {
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "example.com/tier", Operator: metav1.LabelSelectorOpIn, Values: []string{"gold", "silver"}},
		}}
	})
	service, real := w.up("web")
	w.look(service, func() {})
	w.Expect(w.published(service)()).To(BeEmpty())
	w.Expect(w.statusOf(policy).Services).To(Equal(criticalv2.ServiceCounts{}))

	w.labelNamespace("example.com/tier", "gold")
	w.Eventually(w.published(service)).Should(Equal("page: nothing"))
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/StandbyReady"))
	w.fail(service, real)
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.settle()

	before := len(w.writes())
	w.look(service, func() { w.labelNamespace("example.com/tier", "silver") })
	w.Expect(w.writes()[before:]).To(BeEmpty())
	w.labelNamespace("example.com/tier", "bronze")
	w.Eventually(w.published(service)).Should(BeEmpty())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("/"))
	w.labelNamespace("example.com/tier", "gold")
	w.Eventually(w.published(service)).ShouldNot(BeEmpty())
}

// NAMESPACES limits what any selector finds, and no request leaves the limit.
func TestNothingIsPublishedInANamespaceThatIsNotWatched(t *testing.T) {
	w := withResponder(t)
	elsewhere := &world{World: w.Cluster.NewWorld(t)}
	w.start(w.complete())
	policy := w.policy("shop", toPage, func(p *criticalv2.CriticalService) {
		p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"example.com/tier": "gold"}}
	})
	outside := elsewhere.down("web", func(s *corev1.Service) { s.Labels["role"] = w.Namespace })
	inside, _ := w.up("web")
	elsewhere.labelNamespace("example.com/tier", "gold")
	w.labelNamespace("example.com/tier", "gold")
	w.responder("responder-1")
	w.Eventually(w.stateOf(policy, inside)).Should(Equal("Armed/StandbyReady"))
	w.Expect(w.statusOf(policy).Services.Total).To(BeEquivalentTo(1))
	w.settle()
	w.Expect(elsewhere.published(outside)()).To(BeEmpty())
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return strings.Contains(r.Path, elsewhere.Namespace)
	})).To(BeEmpty())
}

// The schema cannot refuse every selector that no label matches. Such a one
// matches nothing, whatever else it says.
func TestASelectorThatDoesNotParseMatchesNothing(t *testing.T) {
	t.Parallel()
	broken := []metav1.LabelSelectorRequirement{{Key: "no label", Operator: metav1.LabelSelectorOpDoesNotExist}}
	for name, change := range map[string]func(*criticalv2.CriticalService){
		"of Services": func(p *criticalv2.CriticalService) { p.Spec.ServiceSelector.MatchExpressions = broken },
		"of namespaces": func(p *criticalv2.CriticalService) {
			p.Spec.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: broken}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.start(w.complete())
			policy := w.policy("shop", toPage, change)
			service := w.down("web")
			w.look(service, func() {})
			w.Expect(w.published(service)()).To(BeEmpty())
			w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("False/SelectorInvalid"))
			w.Expect(w.statusOf(policy).Services).To(Equal(criticalv2.ServiceCounts{}))
		})
	}
}

// It is not known which Services such a selector means, so that fallbacks stay; and they go when it is.
func TestAFallbackStaysOnlyWhileTheSelectorDoesNotParse(t *testing.T) {
	t.Parallel()
	for ending, end := range map[string]func(*world, *criticalv2.CriticalService){
		"it selects another Service": func(w *world, policy *criticalv2.CriticalService) {
			w.turn(policy, func(p *criticalv2.CriticalService) {
				p.Spec.ServiceSelector = metav1.LabelSelector{MatchLabels: map[string]string{"role": "another"}}
			})
		},
		"the policy is deleted": func(w *world, policy *criticalv2.CriticalService) { w.Delete(policy) },
	} {
		for kind, fallback := range map[string]func(*world) func(*criticalv2.CriticalService){
			"a page": func(*world) func(*criticalv2.CriticalService) { return toPage },
			"a Pod":  func(w *world) func(*criticalv2.CriticalService) { return w.toPod(criticalv2.ActivationStandby) },
		} {
			t.Run(kind+", "+ending, func(t *testing.T) {
				w := withResponder(t)
				w.start(w.complete())
				w.template()
				policy := w.policy("shop", fallback(w))
				service, _ := w.up("web")
				w.Eventually(w.published(service)).ShouldNot(BeEmpty())
				w.turn(policy, func(p *criticalv2.CriticalService) {
					p.Spec.ServiceSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "no label", Operator: metav1.LabelSelectorOpDoesNotExist}}
				})
				w.Eventually(w.conditionOf(policy, "Ready")).Should(Equal("False/SelectorInvalid"))
				w.look(service, func() {})
				w.Expect(w.published(service)()).NotTo(BeEmpty())

				end(w, policy)
				w.Eventually(w.published(service)).Should(BeEmpty())
				w.Eventually(func() int { return len(w.fallbacks(service)) }).Should(BeZero())
			})
		}
	}
}
