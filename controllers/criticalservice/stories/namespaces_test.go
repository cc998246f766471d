package stories_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestAnOperatorOfSomeNamespacesLeavesTheOthersAlone(t *testing.T) {
	w := alone(t)
	elsewhere := w.Cluster.NewWorld(t)
	options := standard
	options.Namespaces = []string{w.Namespace}
	w.start(program(options))

	everywhere := w.policy("everywhere")
	there := w.policy("there", func(p *criticalv2.CriticalService) { p.Spec.Namespaces = []string{elsewhere.Namespace} })
	unwatched := elsewhere.Service("web", func(s *corev1.Service) { s.Labels = map[string]string{"role": w.Namespace} })
	elsewhere.PublishEndpoints(unwatched)
	watched, _ := w.covered("web")

	w.Eventually(w.stateOf(everywhere, watched)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.statusOf(everywhere).Services).To(Equal(criticalv2.ServiceCounts{Total: 1, Covered: 1}))
	w.Eventually(w.conditionOf(there, "Ready")).Should(Equal("False/NamespaceNotWatched"))
	ready := w.statusOf(there).Conditions[0]
	w.Expect(ready.Message).To(And(ContainSubstring(elsewhere.Namespace), ContainSubstring("add it to NAMESPACES")))
	w.settle()
	w.Expect(w.fallbacks(unwatched)).To(BeEmpty())
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return strings.Contains(r.Path, elsewhere.Namespace)
	})).To(BeEmpty(), "not one request is about a namespace that is not watched")
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return strings.HasPrefix(r.Path, "/api/v1/services") || strings.HasPrefix(r.Path, "/api/v1/pods") ||
			strings.HasPrefix(r.Path, "/apis/discovery.k8s.io/v1/endpointslices")
	})).To(BeEmpty(), "the caches hold the watched namespace only")
}

// A policy for one namespace of several that are watched.
func TestAPolicyForOneNamespaceConcernsNoOther(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop", func(p *criticalv2.CriticalService) { p.Spec.Namespaces = []string{w.Namespace} })
	other := &world{World: w.Cluster.NewWorld(t), operator: w.operator}
	outside := other.down("web", func(s *corev1.Service) { s.Labels["role"] = w.Namespace })
	inside, _ := w.covered("web")
	w.Eventually(w.stateOf(policy, inside)).Should(Equal("Covered/FallbackServing"))
	other.look(outside, func() {})
	w.Expect(other.fallbacks(outside)).To(BeEmpty())
	w.Expect(w.statusOf(policy).Services.Total).To(BeEquivalentTo(1))
}
