package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// A fallback leaves though the outage lasts when no object asks for it any more.
func TestAFallbackLeavesInMidOutageWhen(t *testing.T) {
	t.Parallel()
	type scene struct {
		*world
		policy  *criticalv2.CriticalService
		service *corev1.Service
	}
	for name, test := range map[string]struct {
		change func(s scene)
		// want is what the status says of the Service afterwards; "/" is nothing.
		want string
		// silent says that the Service is gone, and with it what an event would be about.
		silent bool
	}{
		"the CriticalService is deleted": {
			change: func(s scene) { s.Delete(s.policy) },
		},
		"the CriticalService asks for another label": {
			change: func(s scene) {
				testenv.Update(s.World, s.policy, func(p *criticalv2.CriticalService) { p.Spec.ServiceSelector.MatchLabels["role"] = "other" })
			},
			want: "/",
		},
		"the CriticalService asks for one more label": {
			change: func(s scene) {
				testenv.Update(s.World, s.policy, func(p *criticalv2.CriticalService) {
					p.Spec.ServiceSelector.MatchLabels["tier"] = "gold"
				})
			},
			want: "/",
		},
		"the CriticalService names another namespace": {
			change: func(s scene) {
				testenv.Update(s.World, s.policy, func(p *criticalv2.CriticalService) { p.Spec.Namespaces = []string{"elsewhere"} })
			},
			want: "/",
		},
		"the Service loses its label": {
			change: func(s scene) { testenv.Update(s.World, s.service, func(o *corev1.Service) { o.Labels = nil }) },
			want:   "/",
		},
		"the Service's label gets another value": {
			change: func(s scene) {
				testenv.Update(s.World, s.service, func(o *corev1.Service) { o.Labels["role"] = "backend" })
			},
			want: "/",
		},
		"the Service's owner opts out": {
			change: func(s scene) {
				testenv.Update(s.World, s.service, func(o *corev1.Service) {
					o.Annotations = map[string]string{"mycrd.com/critical-service": "ignore"}
				})
			},
			want: "Ignored/OptedOut",
		},
		"the Service becomes an ExternalName": {
			change: func(s scene) {
				testenv.Update(s.World, s.service, func(o *corev1.Service) {
					o.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "shop.example.com"}
				})
			},
			want: "Ignored/ExternalName",
		},
		"the Service loses its selector": {
			change: func(s scene) {
				testenv.Update(s.World, s.service, func(o *corev1.Service) { o.Spec.Selector = nil })
			},
			want: "Ignored/NoSelector",
		},
		"the Service is being deleted": {
			change: func(s scene) {
				s.hold(s.service)
				s.Delete(s.service)
			},
			want: "Ignored/Terminating",
		},
		"the Service is deleted": {
			change: func(s scene) { s.Delete(s.service) },
			want:   "/", silent: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			service, _ := w.covered("web")
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

			test.change(scene{w, policy, service})
			w.gone(service)
			if test.want != "" {
				w.Eventually(w.stateOf(policy, service)).Should(Equal(test.want))
			}
			if !test.silent {
				w.Eventually(w.EventsOf(service, "ProtectionEnded")).Should(HaveLen(1))
			}
		})
	}
}

// hold puts a finalizer on the Service, as a cloud's load balancer does.
func (w *world) hold(service *corev1.Service) {
	w.T.Helper()
	testenv.Update(w.World, service, func(o *corev1.Service) { o.Finalizers = []string{"example.com/load-balancer"} })
	w.T.Cleanup(func() {
		held := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}}
		w.release(held)
	})
}
