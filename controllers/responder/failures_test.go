package responder_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
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

// A slice that the cache does not show yet, or not as it is, keeps what it asks for.
func TestNothingIsRemovedOnOldKnowledge(t *testing.T) {
	isAway := func(w *world, slice *discoveryv1.EndpointSlice) (end func()) {
		w.Delete(slice)
		return func() { w.asking("web", criticalv2.PageFallback{}) }
	}
	isPublishedByAPod := func(w *world, slice *discoveryv1.EndpointSlice) (end func()) {
		testenv.Update(w.World, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "web"}}, func(s *corev1.Service) {
			s.Spec.Ports[0].Name = "renamed"
		})
		return func() {
			ofPod := &discoveryv1.EndpointSlice{
				ObjectMeta: metav1.ObjectMeta{
					Name: "web-standby-pod", Namespace: w.Namespace, Labels: maps.Clone(slice.Labels),
					OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "pod", UID: "uid", Controller: new(true)}},
				},
				AddressType: discoveryv1.AddressTypeIPv4,
				Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(20002))}},
			}
			ofPod.Labels[criticalv2.LabelStandbyPod] = "uid"
			w.Create(ofPod)
		}
	}
	for what, test := range map[string]struct {
		others []string
		begin  func(*world, *discoveryv1.EndpointSlice) (end func())
		more   []string
	}{
		"not the responder":                    {nil, isAway, nil},
		"not one of its listeners":             {[]string{"api", "shop"}, isAway, nil},
		"not a listener that a Pod still uses": {[]string{"api", "shop"}, isPublishedByAPod, []string{"20003 web/renamed"}},
	} {
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
			for _, other := range test.others {
				w.critical(other, criticalv2.PageFallback{})
			}
			_, slice := w.critical("web", criticalv2.PageFallback{})
			w.Eventually(w.there).Should(beComplete())
			w.Eventually(w.numbers).Should(HaveLen(len(test.others) + 1))
			w.current().Settled(w.World)
			before, table := w.deployment().UID, w.numbers()

			armed.Store(true)
			end := test.begin(w, slice)
			w.Eventually(arrived.Load).Should(BeTrue(), "the API server must be asked before anything goes")
			end()
			close(letGo)
			w.look()
			w.Expect(w.there()).To(beComplete())
			w.Expect(w.deployment().UID).To(Equal(before))
			w.Expect(w.numbers()).To(Equal(append(table, test.more...)), "clients are sent to these")
		})
	}
}

// readsSlicesLive tells a live read from that of a cache, which has all slices.
func readsSlicesLive(r testenv.Request) bool {
	return r.Method == http.MethodGet && r.Resource() == "endpointslices" && r.Query.Get("labelSelector") != "" && !r.Query.Has("watch")
}

// While the API server does not answer what a table may lose, nothing is lost, and others get what they ask for.
func TestALiveReadWithoutAnAnswerTakesNothingFromOthers(t *testing.T) {
	for how, verdict := range map[string]testenv.Verdict{"it fails": testenv.Fail, "it hangs": testenv.Hang} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t)
			var fails atomic.Bool
			w.start(standard, func(r testenv.Request) testenv.Verdict {
				if fails.Load() && readsSlicesLive(r) {
					return verdict
				}
				return testenv.Pass
			})
			_, gone := w.critical("web", criticalv2.PageFallback{})
			w.critical("shop", criticalv2.PageFallback{})
			w.Eventually(w.numbers).Should(HaveLen(2))
			w.current().Settled(w.World)

			fails.Store(true)
			w.Delete(gone)
			w.critical("api", criticalv2.PageFallback{})
			w.Eventually(w.numbers).Should(HaveExactElements(HaveSuffix("/http"), HaveSuffix("/http"), Equal("20002 api/http")))
			pod := w.pod("responder-1")
			w.containersReady(pod, "10.9.0.1")
			w.Eventually(func() bool { return w.Exists(pod) && protection.IsPublished(pod) }).Should(BeTrue(), "its gate waits for no read")
			fails.Store(false)
			w.Eventually(w.numbers).Should(HaveExactElements(HaveSuffix("shop/http"), Equal("20002 api/http")))
		})
	}
}

// A Service whose ports the cache does not show yet keeps the listeners of those that it has.
func TestAPortThatIsBackKeepsItsListener(t *testing.T) {
	w := newWorld(t)
	var armed, arrived atomic.Bool
	letGo := make(chan struct{})
	w.start(standard, func(r testenv.Request) testenv.Verdict {
		isLive := r.Method == http.MethodGet && r.Resource() == "services" && strings.HasSuffix(r.Path, "/web")
		if isLive && armed.Load() && arrived.CompareAndSwap(false, true) {
			<-letGo
		}
		return testenv.Pass
	})
	service, _ := w.critical("web", criticalv2.PageFallback{})
	withPorts := func(names ...string) {
		testenv.Update(w.World, service, func(s *corev1.Service) {
			s.Spec.Ports = nil
			for i, name := range names {
				s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: name, Port: int32(80 + i)})
			}
		})
	}
	withPorts("http", "grpc")
	w.Eventually(w.numbers).Should(HaveLen(2))
	w.current().Settled(w.World)
	both := w.numbers()

	armed.Store(true)
	withPorts("http")
	w.Eventually(arrived.Load).Should(BeTrue(), "the API server must be asked before anything goes")
	withPorts("http", "grpc")
	close(letGo)
	w.look()
	w.Expect(w.numbers()).To(Equal(both))
}

// What is confirmed in several requests goes at once, but for a Service about which there is too much to read.
func TestManyListenersGoAtOnceBesideOneThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	w.start(standard)
	w.critical("stays", criticalv2.PageFallback{})
	_, crowded := w.critical("crowded", criticalv2.PageFallback{})
	var gone []*discoveryv1.EndpointSlice
	for i := range 60 {
		_, slice := w.critical(fmt.Sprintf("gone-%d", i), criticalv2.PageFallback{})
		gone = append(gone, slice)
	}
	w.Eventually(w.numbers).Should(HaveLen(62))
	w.stop()

	for i := range 20 {
		w.Create(&discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("crowd-%d", i), Labels: crowded.Labels, Annotations: map[string]string{"much": strings.Repeat("x", 250<<10)},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
		})
	}
	for _, slice := range append(gone, crowded) {
		w.Delete(slice)
	}
	testenv.Update(w.World, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "crowded"}}, func(s *corev1.Service) {
		s.Spec.Ports[0].Name = "renamed"
	})
	w.start(standard)
	w.Eventually(w.numbers).Should(ConsistOf(HaveSuffix(" stays/http"), HaveSuffix(" crowded/http"), HaveSuffix(" crowded/renamed")))
	writes := w.current().Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() == "configmaps" })
	w.Expect(len(writes)).To(BeNumerically("<", 10), "one write for many; where answers take seconds, a pass ends before it has them all")
}
