package stories_test

import (
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// A world that stands still, whatever its state, costs no write.
func TestInASettledWorldNothingIsWritten(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	first, second := w.policy("a"), w.policy("b")
	armed, real := w.up("armed")
	covered, fallback := w.covered("covered")
	exposed := w.down("exposed")
	// One that was merely starting would be called failing after a minute.
	w.PodStatus(w.fallback(exposed), func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	})
	ignored := w.critical("ignored", func(s *corev1.Service) { s.Spec.Selector = nil })
	want := criticalv2.ServiceCounts{Total: 4, Ignored: 1, Armed: 1, Exposed: 1, Covered: 1}
	w.Eventually(func() criticalv2.ServiceCounts { return w.statusOf(first).Services }).Should(Equal(want))
	w.Eventually(func() int32 { return w.statusOf(second).Services.Ignored }).Should(BeEquivalentTo(4))
	w.settle()
	before := len(w.writes())

	// Everything is touched, and nothing of it matters.
	touch := func(o metav1.Object) { o.SetAnnotations(map[string]string{"example.com/touched": w.Namespace}) }
	for _, service := range []*corev1.Service{armed, exposed, ignored} {
		w.look(service, func() { testenv.Update(w.World, service, func(s *corev1.Service) { touch(s) }) })
	}
	w.look(covered, func() {
		testenv.Update(w.World, real, func(p *corev1.Pod) { touch(p) })
		testenv.Update(w.World, first, func(p *criticalv2.CriticalService) { touch(p) })
		w.PodStatus(fallback, func(s *corev1.PodStatus) { s.Message = "touched" })
		w.Slice(covered, "more", func(s *discoveryv1.EndpointSlice) { s.Ports = nil })
	})
	w.Expect(w.writes()[before:]).To(BeEmpty())
}

// What the operator reads grows with Services, and not with Pods.
func TestTheOperatorReadsNoPodsButItsOwn(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	policy := w.policy("shop")
	service, real := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.Delete(real)
	w.PublishEndpoints(service)
	w.answer(service, w.fallback(service))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.recover(service)
	w.gone(service)

	ofPods := func(r testenv.Request) bool {
		isList := strings.HasSuffix(r.Path, "/pods")
		return r.Method == http.MethodGet && isList
	}
	w.Expect(w.operator.Traffic.Requests(ofPods)).NotTo(BeEmpty())
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return ofPods(r) && !strings.HasPrefix(r.Query.Get("labelSelector"), criticalv2.LabelFallbackFor)
	})).To(BeEmpty(), "every list and watch of Pods is limited to fallbacks")
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool {
		isList := strings.HasSuffix(r.Path, "/configmaps") || strings.HasSuffix(r.Path, "/deployments")
		return isList && !strings.HasPrefix(r.Query.Get("labelSelector"), criticalv2.LabelResponder)
	})).To(BeEmpty(), "of ConfigMaps and Deployments only the responder's are read")
	w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool { return strings.Contains(r.Path, "secrets") })).To(BeEmpty())
}

// Between the news of an outage and the fallback Pod lies one request, the
// create: what must be known is in the caches.
func TestNothingIsReadOnTheWayToAFallback(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	policy := w.policy("shop")
	service, real := w.up("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
	w.settle()
	all := func(testenv.Request) bool { return true }
	before := len(w.operator.Traffic.Requests(all))

	w.Delete(real)
	w.PublishEndpoints(service)
	w.fallback(service)
	w.Expect(w.operator.Traffic.Requests(all)[before].String()).To(HavePrefix("POST /api/v1/namespaces/" + w.Namespace + "/pods?"))
}
