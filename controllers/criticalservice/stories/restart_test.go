package stories_test

import (
	"maps"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestARestartInMidOutageChangesNothing(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	policy := w.policy("shop")
	service, fallback := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.settle()
	before := w.detailOf(policy, service)

	w.stop()
	w.start(w.confined(standard))
	w.look(service, func() {})
	w.Expect(w.writes()).To(BeEmpty(), "there is nothing to do, and nothing to say")
	w.Expect(w.detailOf(policy, service)).To(Equal(before))
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))

	w.recover(service)
	w.gone(service)
}

// writes lists what the operator wrote, but for events.
func (w *world) writes() []testenv.Request {
	return w.current().Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() != "events" })
}

// What happens while the operator is down is made good when it is back. No
// garbage collector runs here, so that the operator does it all.
func TestARestartCatchesUpWhenMeanwhile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		meanwhile func(w *world, policy *criticalv2.CriticalService, service *corev1.Service)
		stays     bool
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
		"the Service recovered": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
				w.recover(service)
			},
		},
		"the Service's selector changed": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
				testenv.Update(w.World, service, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"tier": "front"} })
				w.PublishEndpoints(service)
			},
			stays: true,
		},
		"a user deleted the fallback": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
				w.Delete(w.fallback(service))
			},
			stays: true,
		},
		"a user removed the operator's label from the fallback": {
			meanwhile: func(w *world, _ *criticalv2.CriticalService, service *corev1.Service) {
				testenv.Update(w.World, w.fallback(service), func(p *corev1.Pod) { delete(p.Labels, criticalv2.LabelFallbackFor) })
			},
			stays: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := apart(t)
			w.start(w.confined(standard))
			policy := w.policy("shop")
			service, _ := w.covered("web")
			w.stop()
			test.meanwhile(w, policy, service)
			w.start(w.confined(standard))

			if !test.stays {
				w.gone(service)
				return
			}
			w.Eventually(func() map[string]string { return w.fallback(service).Labels }).Should(Equal(w.wantedLabels(service)))
			w.answer(service, w.fallback(service))
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
		})
	}
}

func (w *world) wantedLabels(service *corev1.Service) map[string]string {
	labels := map[string]string{"app.kubernetes.io/component": "fallback", criticalv2.LabelFallbackFor: service.Name}
	maps.Copy(labels, service.Spec.Selector)
	return labels
}

// A fallback under an earlier name is the fallback all the same.
func TestARestartWithAnotherPrefixKeepsTheFallbackThatAnswers(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	policy := w.policy("shop")
	service, fallback := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.stop()

	renamed := standard
	renamed.PodNamePrefix = "stand-in"
	w.start(w.confined(renamed))
	w.look(service, func() { w.PublishEndpoints(service) })
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))
	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
	w.Expect(w.writesOfPods()).To(BeEmpty())

	real := w.Pod("web-real", service)
	w.MakeReady(real)
	w.PublishEndpoints(service)
	w.gone(service)
	w.PublishEndpoints(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))

	w.Delete(real)
	w.PublishEndpoints(service)
	w.Expect(w.fallback(service).Name).To(Equal("stand-in-web"))
}

// A start deletes nothing by what its caches do not hold yet.
func TestAStartDeletesNothingItHasNotSeen(t *testing.T) {
	w := apart(t)
	w.start(w.confined(standard))
	w.policy("shop")
	var services []*corev1.Service
	for _, name := range []string{"one", "two", "three", "four", "five"} {
		service, _ := w.covered(name)
		services = append(services, service)
	}
	for range 3 {
		w.stop()
		w.start(w.confined(standard))
		w.look(services[0], func() {
			for _, service := range services[1:] {
				w.touch(service)
			}
		})
		w.Expect(w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Method == http.MethodDelete })).To(BeEmpty())
	}
}
