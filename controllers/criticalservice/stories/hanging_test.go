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

// hanging lets every create of a resource in a namespace hang until it is let go, as an
// admission webhook does that does not answer.
type hanging struct {
	namespace, resource string
	arrived             atomic.Int32
	letGo               chan struct{}
}

func (h *hanging) interfere(r testenv.Request) testenv.Verdict {
	if r.Method == http.MethodPost && r.Writes() && r.Resource() == h.resource && strings.Contains(r.Path, "/namespaces/"+h.namespace+"/") {
		h.arrived.Add(1)
		<-h.letGo
	}
	return testenv.Pass
}

// What one namespace makes the API server wait for is in the way of no promotion in
// another. More Services wait than the operator has workers for any one thing.
func TestCreatesThatHangDelayNoPromotion(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		resource string
		fallback func(*world) func(*criticalv2.CriticalService)
		// atOnce is how many of the creates the operator sends before the first is
		// answered.
		atOnce int
		// provided is true once a Service has what was to be created.
		provided func(w *world, service *corev1.Service) bool
	}{
		"of Pods": {"pods", func(*world) func(*criticalv2.CriticalService) { return toLabels }, 16, func(w *world, service *corev1.Service) bool { return len(w.fallbacks(service)) == 1 }},
		"of standby slices": {"endpointslices", func(w *world) func(*criticalv2.CriticalService) {
			w.template()
			return w.toPod(criticalv2.ActivationOnDemand)
		}, 32, func(w *world, service *corev1.Service) bool { return w.Exists(w.slice(service)) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			busy := (&world{World: cluster.NewWorld(t)}).withResponder()
			creates := &hanging{namespace: busy.Namespace, resource: test.resource, letGo: make(chan struct{})}
			program := w.complete(func(o *criticalservice.Options) { o.Namespaces = append(o.Namespaces, busy.Namespace) })
			program.Interfere = creates.interfere
			w.start(program)
			service, real := w.armed(w.policy("shop", toPage), "web")
			w.settle()

			waiting := make([]*corev1.Service, 40)
			func() {
				defer close(creates.letGo)
				busy.policy("busy", test.fallback(busy), func(p *criticalv2.CriticalService) { p.Labels[labelWorld] = w.Namespace })
				for i := range waiting {
					// The API server of the tests has few addresses for Services.
					waiting[i] = busy.down(fmt.Sprintf("web-%d", i), func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone })
				}
				w.Eventually(creates.arrived.Load).Should(BeNumerically(">=", test.atOnce))
				w.fail(service, real)
				w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
				for _, other := range waiting {
					w.Eventually(func() int { return w.operator.Reconciles("service", busy.Namespace, other.Name) }).
						Should(BeNumerically(">", 0), "no Service waits for the create of another")
				}
			}()
			for _, other := range waiting {
				w.Eventually(func() bool { return test.provided(busy, other) }).Should(BeTrue(), "what hung is made")
			}
		})
	}
}
