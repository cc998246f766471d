package decide_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

func TestWhoIsProtected(t *testing.T) {
	table{
		"a Service that is gone leaves nothing of ours": {
			snapshot(fallback(), noService), "delete service-watcher-shop (Unprotected)",
		},
		"a Service that no one calls critical leaves nothing of ours": {
			snapshot(fallback(), noPolicy), "delete service-watcher-shop (Unprotected)",
		},
		"a Service without the label is not matched": {
			snapshot(service(func(s *corev1.Service) { s.Labels = nil })), "",
		},
		"a Service with another value is not matched": {
			snapshot(service(func(s *corev1.Service) { s.Labels["role"] = "store" })), "",
		},
		"a Service of another namespace is not matched": {
			snapshot(func(s *decide.Snapshot) { critical(s).Spec.Namespaces = []string{"other"} }), "",
		},
		"a Service of the named namespace is matched": {
			snapshot(func(s *decide.Snapshot) { critical(s).Spec.Namespaces = []string{"web"} }),
			"Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a CriticalService that is being deleted matches nothing": {
			snapshot(func(s *decide.Snapshot) { critical(s).DeletionTimestamp = new(metav1.NewTime(now)) }), "",
		},
		"a CriticalService without labels matches nothing": {
			snapshot(withoutSelector), "",
		},
		"a fallback whose CriticalService has lost its selector stays": {
			snapshot(fallback(), withoutSelector), "",
		},
		"a standby whose CriticalService has lost its selector stays": {
			snapshot(toPage(), responder(readyPod), armed, withoutSelector), "",
		},
		"a fallback whose CriticalService has lost its selector goes when the application is back": {
			snapshot(fallback(), endpoints(ready("shop-1")), withoutSelector), "delete service-watcher-shop (Unprotected)",
		},
		"a page whose CriticalService has lost its selector goes when the application is back": {
			snapshot(toPage(), endpoints(notReady("shop-1")), responder(readyPod), published, published, endpoints(ready("shop-1")), withoutSelector), "unpublish shop-standby-ipv4, unpublish shop-standby-ipv4/responder-1",
		},
		"a page whose CriticalService has lost its selector answers on in an outage": {
			snapshot(toPage(), endpoints(notReady("shop-1")), responder(readyPod), published, published, withoutSelector), "",
		},
		"a Service that opted out is left alone, though its CriticalService has lost its selector": {
			snapshot(toPage(), responder(readyPod), armed, withoutSelector, service(func(s *corev1.Service) {
				s.Annotations = map[string]string{"mycrd.com/critical-service": "ignore"}
			})), "unpublish shop-standby-ipv4, unpublish shop-standby-ipv4/responder-1",
		},
		"a fallback whose CriticalService is gone goes, whatever another one has lost": {
			snapshot(fallback(), withoutSelector, func(s *decide.Snapshot) { critical(s).UID = "another" }),
			"delete service-watcher-shop (Unprotected)",
		},
		"a fallback goes with its CriticalService, even one that has lost its selector": {
			snapshot(fallback(), withoutSelector, func(s *decide.Snapshot) { critical(s).DeletionTimestamp = new(metav1.NewTime(now)) }),
			"delete service-watcher-shop (Unprotected)",
		},
		"a Service that opted out is ignored": {
			snapshot(fallback(), service(func(s *corev1.Service) {
				s.Annotations = map[string]string{"mycrd.com/critical-service": "ignore"}
			})), "Ignored/OptedOut, delete service-watcher-shop (Unprotected)",
		},
		"another value of the annotation is no opting out": {
			snapshot(service(func(s *corev1.Service) {
				s.Annotations = map[string]string{"mycrd.com/critical-service": "yes"}
			})), "Exposed/FallbackStarting, create service-watcher-shop, recheck 1s",
		},
		"a Service that is being deleted is ignored": {
			snapshot(fallback(), service(func(s *corev1.Service) { s.DeletionTimestamp = new(metav1.NewTime(now)) })),
			"Ignored/Terminating, delete service-watcher-shop (Unprotected)",
		},
		"a Service without selector is ignored": {
			snapshot(service(func(s *corev1.Service) { s.Spec.Selector = nil })), "Ignored/NoSelector",
		},
		"a DNS alias is ignored": {
			snapshot(service(func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName })), "Ignored/ExternalName",
		},
		"a selector by our own labels is ignored": {
			snapshot(service(func(s *corev1.Service) { s.Spec.Selector = map[string]string{criticalv2.LabelFallbackFor: "shop"} })),
			"Ignored/ReservedSelector",
		},
	}.run(t)
}
