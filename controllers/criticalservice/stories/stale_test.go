package stories_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// held holds back the first request of a kind until it is let go, so that the
// world can change between what the operator knows and what it does.
type held struct {
	matches func(testenv.Request) bool
	armed   atomic.Bool
	arrived atomic.Bool
	letGo   chan struct{}
}

func hold(matches func(testenv.Request) bool) *held {
	return &held{matches: matches, letGo: make(chan struct{})}
}

func (h *held) interfere(r testenv.Request) testenv.Verdict {
	if h.armed.Load() && h.matches(r) && h.arrived.CompareAndSwap(false, true) {
		<-h.letGo
	}
	return testenv.Pass
}

// between arms, does something that makes the operator send the request, and
// changes the world before the request is sent on.
func (h *held) between(w *world, first, then func()) {
	w.T.Helper()
	h.armed.Store(true)
	defer close(h.letGo)
	first()
	w.Eventually(h.arrived.Load).Should(BeTrue(), "the operator must send the request that is to be held")
	then()
}

func isRead(r testenv.Request) bool {
	return r.Method == http.MethodGet && !r.Query.Has("watch")
}

// What takes away is done only if it is right by what the API server says now:
// the caches may be behind.
func TestARecoveryThatIsOverEndsNoFallback(t *testing.T) {
	endsNoFallback(t, func(w *world, service *corev1.Service) (begin, end func()) {
		real := w.Pod("web-real", service)
		return func() {
				w.MakeReady(real)
				w.PublishEndpoints(service)
			}, func() {
				w.MakeUnready(real)
				w.PublishEndpoints(service)
			}
	})
}

func TestAnOptOutThatIsOverEndsNoFallback(t *testing.T) {
	endsNoFallback(t, func(w *world, service *corev1.Service) (begin, end func()) {
		annotate := func(annotations map[string]string) func() {
			return func() { testenv.Update(w.World, service, func(s *corev1.Service) { s.Annotations = annotations }) }
		}
		return annotate(map[string]string{criticalv2.AnnotationCriticalService: criticalv2.OptOut}), annotate(nil)
	})
}

// endsNoFallback lets something begin in an outage by which the fallback would go, and end before the operator has read
// the API server.
func endsNoFallback(t *testing.T, happens func(w *world, service *corev1.Service) (begin, end func())) {
	t.Helper()
	w := apart(t)
	request := hold(isRead)
	program := w.confined(standard)
	program.Interfere = request.interfere
	w.start(program)
	policy := w.policy("shop")
	service, fallback := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()
	before := len(w.writesOfPods())

	begin, end := happens(w, service)
	request.between(w, begin, end)
	w.look(service, func() {})
	w.Expect(w.writesOfPods()[before:]).To(BeEmpty())
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
}

// A Pod that changed after it was looked at is looked at again before it goes.
func TestAFallbackThatChangedMeanwhileIsNotDeletedUnseen(t *testing.T) {
	w := apart(t)
	request := hold(func(r testenv.Request) bool { return r.Method == http.MethodDelete && r.Resource() == "pods" })
	program := w.confined(standard)
	program.Interfere = request.interfere
	w.start(program)
	policy := w.policy("shop")
	service, fallback := w.covered("web")

	request.between(w, func() {
		testenv.Update(w.World, service, func(s *corev1.Service) { s.Labels["role"] = "backend" })
	}, func() {
		testenv.Update(w.World, service, func(s *corev1.Service) { s.Labels["role"] = w.Namespace })
		testenv.Update(w.World, fallback, func(p *corev1.Pod) { p.Labels["example.com/looked-at"] = "yes" })
	})
	w.look(service, func() {})
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
}

func (w *world) writesOfPods() []testenv.Request {
	return w.operator.Traffic.Requests(func(r testenv.Request) bool {
		return r.Writes() && strings.HasPrefix(r.Resource(), "pods")
	})
}
