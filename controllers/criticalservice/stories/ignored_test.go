package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// A Service that cannot or must not be protected gets no fallback, and the
// status says why.
func TestAServiceIsIgnoredWhich(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		service func(*corev1.Service)
		reason  string
		// message is a part of the message in the status.
		message string
	}{
		"is an ExternalName": {
			service: func(s *corev1.Service) {
				s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "shop.example.com"}
			},
			reason: criticalv2.ReasonExternalName, message: "DNS alias",
		},
		"has no selector": {
			service: func(s *corev1.Service) { s.Spec.Selector = nil },
			reason:  criticalv2.ReasonNoSelector, message: "no selector",
		},
		"opted out": {
			service: func(s *corev1.Service) { s.Annotations = map[string]string{"mycrd.com/critical-service": "ignore"} },
			reason:  criticalv2.ReasonOptedOut, message: "mycrd.com/critical-service: ignore",
		},
		"selects by a label of the operator": {
			service: func(s *corev1.Service) { s.Spec.Selector = map[string]string{"mycrd.com/fallback-for": "web"} },
			reason:  criticalv2.ReasonReservedSelector, message: "reserved for fallbacks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := sideBySide(t)
			policy := w.policy("shop")
			service := w.critical("web", test.service)
			if service.Spec.Type != corev1.ServiceTypeExternalName {
				w.Slice(service, "empty")
			}
			w.Eventually(w.stateOf(policy, service)).Should(Equal("Ignored/" + test.reason))
			w.Expect(w.detailOf(policy, service).Message).To(ContainSubstring(test.message))
			w.Expect(w.statusOf(policy).Services).To(Equal(criticalv2.ServiceCounts{Total: 1, Ignored: 1}))
			w.settle()
			w.Expect(w.fallbacks(service)).To(BeEmpty())
		})
	}
}

func TestAnotherValueOfTheAnnotationIsNoOptOut(t *testing.T) {
	w := sideBySide(t)
	w.policy("shop")
	w.fallback(w.down("web", func(s *corev1.Service) {
		s.Annotations = map[string]string{"mycrd.com/critical-service": "true"}
	}))
}
