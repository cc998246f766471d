package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// A standby works without the operator: stopping it, for however long, takes
// nothing away. When it is back it goes on where it was.
func TestAStandbyOutlivesTheOperator(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")
	w.settle()
	w.stop()
	armed := w.podSlice(service)
	w.fail(service, real)
	w.Expect(w.podSlice(service)).To(Equal(armed), "the nodes use the standby by themselves")

	w.start(w.complete())
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()
	before := w.detailOf(policy, service)
	w.stop()
	promoted := w.podSlice(service)

	w.start(w.complete())
	w.look(service, func() {})
	w.Expect(w.writes()).To(BeEmpty(), "there is nothing to do, and nothing to say")
	w.Expect(w.podSlice(service)).To(Equal(promoted))
	w.Expect(w.detailOf(policy, service)).To(Equal(before))
	w.Eventually(w.EventsOf(service, "FallbackPromoted")).Should(HaveLen(1))

	w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
}

// What happens to a promoted standby while the operator is down is made good when
// it is back. No garbage collector runs here, so that the operator does it all.
func TestAStandbyIsCaughtUpWithWhenMeanwhile(t *testing.T) {
	t.Parallel()
	const one, other = "page: responder-1 on http=20000, ", "page: responder-2 on http=20000, "
	slice := func(change func(*discoveryv1.EndpointSlice)) func(*world, *criticalv2.CriticalService, *corev1.Service) {
		return func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
			testenv.Update(w.World, w.podSlice(service), change)
		}
	}
	for name, test := range map[string]struct {
		meanwhile func(w *world, policy *criticalv2.CriticalService, service *corev1.Service)
		want      string
	}{
		"the CriticalService was deleted": {
			meanwhile: func(w *world, policy *criticalv2.CriticalService, _ *corev1.Service) { w.Delete(policy) },
		},
		"the Service was deleted": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) { w.Delete(service) },
		},
		"the Service opted out": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
				testenv.Update(w.World, service, func(s *corev1.Service) {
					metav1.SetMetaDataAnnotation(&s.ObjectMeta, criticalv2.AnnotationCriticalService, criticalv2.OptOut)
				})
			},
		},
		"the Service does not match any more": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
				testenv.Update(w.World, service, func(s *corev1.Service) { s.Labels = nil })
			},
		},
		"the Service recovered": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) { w.recover(service) },
			want:      one + "standby",
		},
		"the responder's Pod was replaced": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, _ *corev1.Service) {
				w.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "responder-1"}})
				w.responder("responder-2")
			},
			want: other + "promoted",
		},
		"a user deleted the slice": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) { w.Delete(w.podSlice(service)) },
			want:      one + "promoted",
		},
		"a user demoted the slice": {
			meanwhile: slice(func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = new(false) }),
			want:      one + "promoted",
		},
		"a user removed the labels of the slice": {
			meanwhile: slice(func(s *discoveryv1.EndpointSlice) { s.Labels = nil }),
			want:      one + "promoted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := withResponder(t)
			w.start(w.complete())
			policy := w.policy("shop", toPage)
			service, real := w.armed(policy, "web")
			w.fail(service, real)
			w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
			w.stop()
			test.meanwhile(w, policy, service)
			w.start(w.complete())
			w.Eventually(w.published(service)).Should(Equal(test.want))
			w.settle()
			w.Expect(w.published(service)()).To(Equal(test.want))
		})
	}
}

// A start takes nothing away by what its caches do not hold yet.
func TestAStartRetractsNothingItHasNotSeen(t *testing.T) {
	w := withResponder(t)
	w.start(w.complete())
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "one")
	w.fail(service, real)
	services := []*corev1.Service{service}
	for _, name := range []string{"two", "three", "four"} {
		services = append(services, w.down(name))
	}
	w.Eventually(func() int32 { return w.statusOf(policy).Services.Covered }).Should(BeEquivalentTo(4))
	w.settle()
	for range 3 {
		w.stop()
		w.start(w.complete())
		w.look(services[0], func() {
			for _, service := range services[1:] {
				w.touch(service)
			}
		})
		w.Expect(w.writes()).To(BeEmpty())
	}
}

// The API server goes away in mid-outage and comes back, and then the leader does.
func TestAPageAnswersWhileTheAPIServerIsAway(t *testing.T) {
	w := alone(t).withResponder()
	t.Setenv("RESPONDER_IMAGE", "quay.io/critical-service/operator:test")
	through, kubeconfig := newGate(t)
	through.set(true)
	first := startReplicaWith(t, "first", kubeconfig)
	w.Eventually(get(first.health, "/readyz")).Should(HavePrefix("200"))
	policy := w.policy("shop", toPage)
	service, real := w.armed(policy, "web")

	w.fail(service, real)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	promoted := w.podSlice(service)
	through.set(false)
	w.Eventually(first.output.String).Should(ContainSubstring("leading on until it does"))
	// The other replica still has an API server, where no one renews the lease.
	second := startReplica(t, "second")
	w.Eventually(get(second.metrics, "/metrics")).Should(ContainSubstring(`leader_election_master_status{name="critical-service-operator"} 1`))
	through.set(true)
	w.Eventually(first.output.String).Should(ContainSubstring(startsAgain), "a leader that learns of another one must not go on")
	w.Eventually(get(first.health, "/readyz")).Should(HavePrefix("200"))
	w.Expect(w.podSlice(service)).To(Equal(promoted), "it takes nothing with it")

	real = w.recover(service)
	w.Eventually(w.published(service)).Should(HaveSuffix("standby"))
	w.Expect(second.Process.Kill()).To(Succeed())
	w.fail(service, real)
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
}
