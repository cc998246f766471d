package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// Which Pod is a fallback, and of which Service.

// A Deployment often has a Service and a headless Service, with one selector.
// The fallback of each becomes an endpoint of both.
func TestTwoServicesWithOneSelectorAreBothDownUntilARealPodIsReady(t *testing.T) {
	for name, selector := range map[string]map[string]string{
		"one selector":                  {"app": "web"},
		"a selector that includes both": {"app": "web", "track": "stable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			first := w.down("web")
			second := w.down("web-too", func(s *corev1.Service) { s.Spec.Selector = selector })
			publish := func() {
				w.PublishEndpoints(first)
				w.PublishEndpoints(second)
			}
			pods := []*corev1.Pod{w.fallback(first), w.fallback(second)}
			for _, pod := range pods {
				w.MakeReady(pod)
			}
			w.look(first, func() { w.touch(second); publish() })
			for i, service := range []*corev1.Service{first, second} {
				w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"), service.Name)
				w.Expect(w.fallback(service).UID).To(Equal(pods[i].UID))
			}

			w.MakeReady(w.Pod("real", second))
			publish()
			w.gone(first)
			w.gone(second)
			publish()
			w.Eventually(w.stateOf(policy, first)).Should(Equal("Armed/EndpointsReady"))
			w.Eventually(w.stateOf(policy, second)).Should(Equal("Armed/EndpointsReady"))
		})
	}
}

// `kubectl delete --cascade=orphan` and restored backups leave a fallback Pod
// without its owner.
func TestAnOrphanOfTheOperatorIsRemoved(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service, fallback := w.covered("web")
	testenv.Update(w.World, service, func(s *corev1.Service) { s.Labels = nil })
	w.Eventually(func() bool { return w.Exists(fallback) }).Should(BeFalse())

	orphan := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fallback.Name, Labels: fallback.Labels, Annotations: fallback.Annotations},
		Spec:       testenv.PodSpec(),
	}
	w.Create(orphan)
	w.Eventually(func() bool { return w.Exists(orphan) }).Should(BeFalse())
	w.Eventually(w.stateOf(policy, service)).Should(Equal("/"))
}

// Labels and annotations are copied easily; what another controller made is its
// own.
func TestAPodOfAnotherControllerIsTheServicesOwn(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.critical("web")
	pod := w.Pod("web-real", service, func(p *corev1.Pod) {
		p.Labels = map[string]string{"app": "web", criticalv2.LabelFallbackFor: "web"}
		p.Annotations = map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned}
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: new(true),
		}}
	})
	w.MakeReady(pod)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.settle()
	w.Expect(w.Exists(pod)).To(BeTrue())
}

// No news of endpoints is no news of a recovery, nor of an outage.
func TestAServiceThatLosesItsSlicesIsLeftAsItIs(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	down, fallback := w.covered("down")
	up, _ := w.up("up")
	w.Eventually(w.stateOf(policy, down)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(policy, up)).Should(Equal("Armed/EndpointsReady"))

	w.look(down, func() { w.UnpublishEndpoints(down) })
	w.look(up, func() { w.UnpublishEndpoints(up) })
	w.Expect(w.fallback(down).UID).To(Equal(fallback.UID))
	w.Expect(w.fallbacks(up)).To(BeEmpty())
}

// An EndpointSlice may for a while list a Pod that is gone.
func TestAnEndpointWithoutItsPodIsNoRecovery(t *testing.T) {
	w := sideBySide(t)
	w.policy("shop")
	service, fallback := w.covered("web")
	w.look(service, func() { w.Slice(service, "stale", with(ready)) })
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
	w.Expect(w.fallback(service).Labels).To(HaveKeyWithValue("app", "web"))
}

func TestAServiceThatOptsInAgainIsProtectedAgain(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.down("web", func(s *corev1.Service) {
		s.Annotations = map[string]string{criticalv2.AnnotationCriticalService: criticalv2.OptOut}
	})
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Ignored/OptedOut"))
	testenv.Update(w.World, service, func(s *corev1.Service) { s.Annotations = nil })
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
}

// A CriticalService that is created again has another UID: what the old one owned
// must not be collected with it.
func TestAPolicyThatIsCreatedAgainOwnsTheFallback(t *testing.T) {
	w := sideBySide(t)
	old := w.policy("shop")
	service, _ := w.covered("web")
	testenv.Update(w.World, old, func(p *criticalv2.CriticalService) { p.Finalizers = []string{"example.com/hold"} })
	w.Delete(old)
	w.gone(service)
	testenv.Update(w.World, old, func(p *criticalv2.CriticalService) { p.Finalizers = nil })
	again := w.policy("shop")
	w.Expect(metav1.IsControlledBy(w.fallback(service), again)).To(BeTrue())
}
