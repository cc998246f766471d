package stories_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice"
	"github.com/critical-service/operator/test/testenv"
)

// hanging lets requests about a namespace hang until they are let go, as those do that an
// admission webhook or a storage does not answer.
type hanging struct {
	namespace string
	requests  func(testenv.Request) bool
	begun     atomic.Bool
	arrived   atomic.Int32
	letGo     chan struct{}
}

func (h *hanging) interfere(r testenv.Request) testenv.Verdict {
	if h.begun.Load() && strings.Contains(r.Path, "/namespaces/"+h.namespace+"/") && h.requests(r) {
		h.arrived.Add(1)
		<-h.letGo
	}
	return testenv.Pass
}

func createsOf(resource string) func(testenv.Request) bool {
	return func(r testenv.Request) bool {
		return r.Method == http.MethodPost && r.Writes() && r.Resource() == resource
	}
}

func dryRuns(r testenv.Request) bool { return r.Method == http.MethodPost && r.Query.Has("dryRun") }

func liveReads(r testenv.Request) bool {
	return r.Method == http.MethodGet && !r.Query.Has("watch") && !listsOfTeams(r)
}

// listsOfTeams are read once for all who wait for the same.
func listsOfTeams(r testenv.Request) bool {
	return r.Method == http.MethodGet && !r.Query.Has("watch") && r.Resource() == "servicefallbacks"
}

// What one namespace makes the API server wait for is in the way of no promotion in
// another. More Services wait than the operator has workers for any one thing.
func TestWhatHangsDelaysNoPromotion(t *testing.T) {
	t.Parallel()
	headless := func(s *corev1.Service) {
		s.Spec.ClusterIP = corev1.ClusterIPNone // The API server of the tests has few addresses.
	}
	down := func(w *world, name string) *corev1.Service { return w.down(name, headless) }
	up := func(w *world, name string) *corev1.Service {
		service, _ := w.up(name, headless)
		return service
	}
	hasFallback := func(w *world, service *corev1.Service) bool { return len(w.fallbacks(service)) == 1 }
	for name, test := range map[string]struct {
		requests func(testenv.Request) bool
		fallback func(*world) func(*criticalv2.CriticalService)
		// service makes one of those whose requests hang.
		service func(w *world, name string) *corev1.Service
		// before is what each has before requests hang; nil if they hang from the beginning.
		before func(w *world, service *corev1.Service) bool
		// atOnce is how many of the requests the operator sends before the first is
		// answered.
		atOnce int
		// after is what each has once they are let go.
		after func(w *world, policy *criticalv2.CriticalService, service *corev1.Service) bool
	}{
		"creates of Pods": {
			requests: createsOf("pods"), fallback: func(*world) func(*criticalv2.CriticalService) { return toLabels },
			service: down, atOnce: 16,
			after: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) bool {
				return hasFallback(w, service)
			},
		},
		"creates of standby slices": {
			requests: createsOf("endpointslices"), fallback: func(w *world) func(*criticalv2.CriticalService) {
				w.template()
				return w.toPod(criticalv2.ActivationOnDemand)
			},
			service: down, atOnce: 32,
			after: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) bool {
				return w.Exists(w.slice(service))
			},
		},
		"dry runs": {
			requests: dryRuns, fallback: func(*world) func(*criticalv2.CriticalService) { return toLabels },
			service: up, atOnce: 2,
			after: func(w *world, policy *criticalv2.CriticalService, service *corev1.Service) bool {
				return w.stateOf(policy, service)() == "Armed/EndpointsReady"
			},
		},
		"the list of ServiceFallbacks before a withdrawal": {
			requests: listsOfTeams, fallback: func(*world) func(*criticalv2.CriticalService) { return toLabels },
			service: down, before: hasFallback, atOnce: 1,
			after: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) bool {
				return len(w.fallbacks(service)) == 0
			},
		},
		"live reads before a withdrawal": {
			requests: liveReads, fallback: func(*world) func(*criticalv2.CriticalService) { return toLabels },
			service: down, before: hasFallback, atOnce: 24,
			after: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) bool {
				return len(w.fallbacks(service)) == 0
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			busy := (&world{World: cluster.NewWorld(t)}).withResponder()
			requests := &hanging{namespace: busy.Namespace, requests: test.requests, letGo: make(chan struct{})}
			program := w.complete(func(o *criticalservice.Options) { o.Namespaces = append(o.Namespaces, busy.Namespace) })
			program.Interfere = requests.interfere
			w.start(program)
			service, real := w.armed(w.policy("shop", toPage), "web")
			w.settle()

			waiting := make([]*corev1.Service, 40)
			var policy *criticalv2.CriticalService
			func() {
				defer close(requests.letGo)
				requests.begun.Store(test.before == nil)
				policy = busy.policy("busy", test.fallback(busy), func(p *criticalv2.CriticalService) { p.Labels[labelWorld] = w.Namespace })
				for i := range waiting {
					waiting[i] = test.service(busy, fmt.Sprintf("web-%d", i))
				}
				if test.before != nil {
					for _, other := range waiting {
						w.Eventually(func() bool { return test.before(busy, other) }).Should(BeTrue())
					}
					requests.begun.Store(true)
					w.Delete(policy)
				}
				w.Eventually(requests.arrived.Load).Should(BeNumerically(">=", test.atOnce))
				w.fail(service, real)
				w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
				for _, other := range waiting {
					w.Eventually(func() int { return w.operator.Reconciles("service", busy.Namespace, other.Name) }).
						Should(BeNumerically(">", 0), "no Service waits for a request about another")
				}
			}()
			for _, other := range waiting {
				w.Eventually(func() bool { return test.after(busy, policy, other) }).Should(BeTrue(), "what hung is done")
			}
		})
	}
}
