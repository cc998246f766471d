package stories_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestAFallbackFollowsTheSelectorInMidOutage(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service, fallback := w.covered("web")

	testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"tier": "front", "track": "stable"} })
	want := map[string]string{
		"tier": "front", "track": "stable", "app.kubernetes.io/component": "fallback", criticalv2.LabelFallbackFor: "web",
	}
	w.Eventually(func() map[string]string { return w.fallback(service).Labels }).Should(Equal(want),
		"the labels of the old selector must go, those of the template must stay")
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))

	w.look(service, func() { w.PublishEndpoints(service) })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
	w.Eventually(w.EventsOf(service, "FallbackRebound")).Should(HaveLen(1))
}

// Whatever a user does to a fallback Pod, it goes on covering and never counts
// as the Service's own.
func TestAFallbackIsFixedWhenAUserRemoves(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*corev1.Pod){
		"the operator's label":                   func(p *corev1.Pod) { delete(p.Labels, criticalv2.LabelFallbackFor) },
		"the label that the Service selects":     func(p *corev1.Pod) { delete(p.Labels, "app") },
		"the annotation that marks it":           func(p *corev1.Pod) { delete(p.Annotations, criticalv2.AnnotationOwned) },
		"the annotation that keeps the selector": func(p *corev1.Pod) { delete(p.Annotations, criticalv2.AnnotationSelector) },
		"every label":                            func(p *corev1.Pod) { p.Labels = nil },
		"every label and annotation":             func(p *corev1.Pod) { p.Labels, p.Annotations = nil, nil },
		"its owner":                              func(p *corev1.Pod) { p.OwnerReferences = nil },
	} {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			service, fallback := w.covered("web")
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

			w.look(service, func() {
				testenv.Update(w.World, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: fallback.Namespace, Name: fallback.Name}}, change)
				w.PublishEndpoints(service)
			})
			w.Eventually(func() map[string]string { return w.fallback(service).Labels }).Should(And(
				HaveKeyWithValue("app", "web"), HaveKeyWithValue(criticalv2.LabelFallbackFor, "web")))
			fixed := w.fallback(service)
			w.Expect(fixed.UID).To(Equal(fallback.UID))
			w.Expect(fixed.Annotations).To(HaveKeyWithValue("service-watcher", "owned"))
			w.Expect(metav1.IsControlledBy(fixed, policy)).To(BeTrue())

			w.look(service, func() { w.PublishEndpoints(service) })
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
		})
	}
}

func TestAFallbackThatAUserDeletesComesBack(t *testing.T) {
	w := sideBySide(t)
	w.policy("shop")
	service, first := w.covered("web")
	w.Delete(first)
	w.Eventually(func() bool { return w.fallback(service).UID != first.UID }).Should(BeTrue())
}

func TestAFallbackThatEndsSlowlyIsFollowedByTheNext(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service, first := w.covered("web")
	w.Schedule(first)
	w.Expect(w.Cluster.Client.Delete(t.Context(), first)).To(Succeed())
	w.PublishEndpoints(service)
	w.Eventually(func() string { return w.detailOf(policy, service).Message }).Should(ContainSubstring(`"service-watcher-web" must be gone`))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Exposed/FallbackStarting"))

	w.Delete(first) // kubelet has stopped it
	w.Expect(w.fallback(service).UID).NotTo(Equal(first.UID))
}

func TestAFallbackThatEndedIsReplacedAndNotInALoop(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	service := w.down("web")
	first := w.fallback(service)
	w.PodStatus(first, func(s *corev1.PodStatus) { s.Phase, s.Reason = corev1.PodFailed, "Evicted" })
	w.Eventually(func() criticalv2.ServiceStatus { return w.detailOf(policy, service) }).Should(And(
		HaveField("State", criticalv2.StateExposed), HaveField("Reason", criticalv2.ReasonFallbackFailing), HaveField("Message", ContainSubstring("Evicted"))))

	w.Eventually(func() bool { pods := w.fallbacks(service); return len(pods) == 1 && pods[0].UID != first.UID }).Should(BeTrue())
	age := w.fallback(service).CreationTimestamp.Sub(first.CreationTimestamp.Time)
	w.Expect(age).To(BeNumerically(">=", 10*time.Second), "a Pod that fails at once must not be made in a loop")
}

func TestServicesOfOneNameInTwoNamespacesHaveEachTheirOwnFallback(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	other := &world{World: w.Cluster.NewWorld(t), operator: w.operator}
	here, fallback := w.covered("web")
	there, _ := other.covered("web", func(s *corev1.Service) { s.Labels["role"] = w.Namespace })
	w.Eventually(w.stateOf(policy, here)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(policy, there)).Should(Equal("Covered/FallbackServing"))

	real := other.Pod("web-real", there)
	other.MakeReady(real)
	other.PublishEndpoints(there)
	other.gone(there)
	w.Expect(w.fallback(here).UID).To(Equal(fallback.UID))
}

func TestServicesWithLongNamesHaveEachTheirOwnFallback(t *testing.T) {
	w := sideBySide(t)
	policy := w.policy("shop")
	long := "a-service-with-a-name-as-long-as-kubernetes-lets-a-name-be--"
	first, firstFallback := w.covered(long + "one")
	second, secondFallback := w.covered(long + "two")
	for _, pod := range []*corev1.Pod{firstFallback, secondFallback} {
		w.Expect(len(pod.Name)).To(BeNumerically("<=", 63), pod.Name)
		w.Expect(pod.Name).To(HavePrefix("service-watcher-a-service-with"))
	}
	w.Eventually(w.stateOf(policy, first)).Should(Equal("Covered/FallbackServing"))
	w.Eventually(w.stateOf(policy, second)).Should(Equal("Covered/FallbackServing"))
}
