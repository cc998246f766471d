package responder_test

import (
	"net/http"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestEachWriteMayFail(t *testing.T) {
	is := func(method, resource string) func(testenv.Request) bool {
		return func(r testenv.Request) bool { return r.Method == method && r.Resource() == resource }
	}
	for name, matches := range map[string]func(testenv.Request) bool{
		"the table is applied":      is(http.MethodPatch, "configmaps"),
		"the Deployment is applied": is(http.MethodPatch, "deployments"),
		"the budget is applied":     is(http.MethodPatch, "poddisruptionbudgets"),
		"a Pod's status is written": is(http.MethodPatch, "pods/status"),
		"the table is deleted":      is(http.MethodDelete, "configmaps"),
		"the Deployment is deleted": is(http.MethodDelete, "deployments"),
		"the budget is deleted":     is(http.MethodDelete, "poddisruptionbudgets"),
		"something is looked up":    is(http.MethodGet, "deployments"),
	} {
		for how, verdict := range map[string]testenv.Verdict{"it does not arrive": testenv.Lose, "its answer is lost": testenv.LoseAnswer} {
			t.Run(name+", and "+how, func(t *testing.T) {
				w := newWorld(t)
				var failed atomic.Int32
				w.start(standard, func(r testenv.Request) testenv.Verdict {
					if !r.Query.Has("watch") && r.Query.Get("limit") == "" && matches(r) && failed.Add(1) <= 2 {
						return verdict
					}
					return testenv.Pass
				})
				_, slice := w.critical("web", criticalv2.PageFallback{})
				w.Eventually(w.there).Should(beComplete())
				w.Eventually(w.numbers).Should(Equal([]string{"20000 web/http"}))
				pod := w.pod("responder-1")
				w.Eventually(func() string {
					w.Exists(pod)
					return pod.Annotations[criticalv2.AnnotationContentVersion]
				}).ShouldNot(BeEmpty())

				w.Delete(slice)
				w.Eventually(w.there).Should(BeEmpty())
				w.Expect(failed.Load()).To(BeNumerically(">=", 1), "something must have failed")
			})
		}
	}
}

// A denied create is reported on the CriticalServices that asked for the responder.
func TestADenialIsReported(t *testing.T) {
	w := newWorld(t)
	quota := w.Forbid("count/deployments.apps")
	w.start(standard)
	w.critical("web", criticalv2.PageFallback{})
	w.Eventually(func() []string {
		return w.events(metav1.NamespaceDefault, w.Unique("shop"), "ResponderDenied")
	}).Should(ContainElement(ContainSubstring("exceeded quota")))
	w.Expect(w.there()).To(ConsistOf("ConfigMap", "PodDisruptionBudget"), "one denied write does not block the others")

	w.Delete(quota)
	w.Eventually(w.there).Should(beComplete())
}

// A slice that the cache does not show yet keeps what it asks for.
func TestNothingIsRemovedOnOldKnowledge(t *testing.T) {
	for what, others := range map[string][]string{"not the responder": nil, "not one of its listeners": {"api", "shop"}} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			var armed, arrived atomic.Bool
			letGo := make(chan struct{})
			w.start(standard, func(r testenv.Request) testenv.Verdict {
				if readsSlicesLive(r) && armed.Load() && arrived.CompareAndSwap(false, true) {
					<-letGo
				}
				return testenv.Pass
			})
			for _, other := range others {
				w.critical(other, criticalv2.PageFallback{})
			}
			_, slice := w.critical("web", criticalv2.PageFallback{})
			w.Eventually(w.there).Should(beComplete())
			w.Eventually(w.numbers).Should(HaveLen(len(others) + 1))
			w.settle()
			before, table := w.deployment().UID, w.numbers()

			armed.Store(true)
			w.Delete(slice)
			w.Eventually(arrived.Load).Should(BeTrue(), "the API server must be asked before anything goes")
			w.asking("web", criticalv2.PageFallback{})
			close(letGo)
			w.look()
			w.Expect(w.there()).To(beComplete())
			w.Expect(w.deployment().UID).To(Equal(before))
			w.Expect(w.numbers()).To(Equal(table), "clients are sent to these")
		})
	}
}

// readsSlicesLive tells a live read from that of a cache, which has all slices.
func readsSlicesLive(r testenv.Request) bool {
	return r.Method == http.MethodGet && r.Resource() == "endpointslices" && r.Query.Get("labelSelector") != "" && !r.Query.Has("watch")
}

// While the API server does not answer what a table may lose, nothing is lost, and others get what they ask for.
func TestALiveReadThatFailsTakesNothingFromOthers(t *testing.T) {
	w := newWorld(t)
	var fails atomic.Bool
	w.start(standard, func(r testenv.Request) testenv.Verdict {
		if fails.Load() && readsSlicesLive(r) {
			return testenv.Fail
		}
		return testenv.Pass
	})
	_, gone := w.critical("web", criticalv2.PageFallback{})
	w.critical("shop", criticalv2.PageFallback{})
	w.Eventually(w.numbers).Should(HaveLen(2))
	w.settle()

	fails.Store(true)
	w.Delete(gone)
	w.critical("api", criticalv2.PageFallback{})
	w.Eventually(w.numbers).Should(HaveExactElements(HaveSuffix("/http"), HaveSuffix("/http"), Equal("20002 api/http")))
	fails.Store(false)
	w.Eventually(w.numbers).Should(HaveExactElements(HaveSuffix("shop/http"), Equal("20002 api/http")))
}
