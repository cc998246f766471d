//go:build e2e

package e2e

import (
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// critical declares the Service critical, by a CriticalService of version 1 of its own.
func (s *service) critical() *service {
	s.t.Helper()
	s.policy = s.world.policy(s.name(s.object.Name), s.namespace, s.object.Labels)
	return s
}

// withFallback declares the Service critical, by a CriticalService of version 2 of its own.
func (s *service) withFallback(fallback criticalv2.Fallback) *service {
	s.t.Helper()
	policy := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: s.name(s.object.Name)},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces:      []string{s.namespace},
			ServiceSelector: metav1.LabelSelector{MatchLabels: s.object.Labels},
			ProtectionSpec:  criticalv2.ProtectionSpec{Fallback: fallback},
		},
	}
	s.create(policy)
	s.policy = policy
	return s
}

// withPage declares the Service critical, with a page that one responder Pod serves.
func (s *service) withPage(edits ...func(*criticalv2.PageFallback)) *service {
	s.t.Helper()
	page := &criticalv2.PageFallback{Message: pageSentence, Replicas: new(int32(1))}
	for _, edit := range edits {
		edit(page)
	}
	return s.withFallback(criticalv2.Fallback{Page: page})
}

// ready waits until the Service answers by itself, and its standby is published.
func (s *service) ready() *service {
	s.t.Helper()
	s.becomes(criticalv2.StateArmed, criticalv2.ReasonStandbyReady)
	return s
}

// standsIn waits until the standby is promoted, and answers as who.
func (s *service) standsIn(who string) {
	s.t.Helper()
	s.becomes(criticalv2.StateCovered, criticalv2.ReasonFallbackServing)
	s.answeredBy(who)
	s.Eventually(s.standbyIsReady).Should(BeTrue(), "the standby of Service %s is promoted", s.object.Name)
}

// standsBy waits until the standby is demoted, and the Service's own Pods answer.
func (s *service) standsBy(who string) {
	s.t.Helper()
	s.ready()
	s.answeredBy(who)
	s.Eventually(s.standbyIsReady).Should(BeFalse(), "the standby of Service %s is promoted", s.object.Name)
}

// standbyIsReady says whether the standby slice has endpoints for consumers that use ready ones only.
func (s *service) standbyIsReady(g Gomega) bool {
	for _, endpoint := range s.standbyEndpoints(g) {
		if ptr.Deref(endpoint.Conditions.Ready, true) {
			return true
		}
	}
	return false
}

// standbyEndpoints are the endpoints that the operator publishes for the Service.
func (s *service) standbyEndpoints(g Gomega) []discoveryv1.Endpoint {
	var found []discoveryv1.Endpoint
	for _, slice := range s.slices(g) {
		if slice.Labels[discoveryv1.LabelManagedBy] == criticalv2.ManagedBy {
			found = append(found, slice.Endpoints...)
		}
	}
	return found
}

func (s *service) slices(g Gomega) []discoveryv1.EndpointSlice {
	var list discoveryv1.EndpointSliceList
	g.Expect(s.List(s.ctx, &list, client.InNamespace(s.namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: s.object.Name})).To(Succeed())
	return list.Items
}

// ownReady is how many ready endpoints the Service has that are its own.
func (s *service) ownReady(g Gomega) int {
	count := 0
	for _, slice := range s.slices(g) {
		if slice.Labels[discoveryv1.LabelManagedBy] == criticalv2.ManagedBy {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if ptr.Deref(endpoint.Conditions.Ready, true) {
				count++
			}
		}
	}
	return count
}

// responders are the responder's Pods of the scenario's namespace that are not on their way out.
func (w *world) responders(g Gomega) []corev1.Pod {
	var running []corev1.Pod
	for _, pod := range w.podsWith(g, labels{criticalv2.LabelResponder: criticalv2.ResponderServer}) {
		if pod.DeletionTimestamp == nil {
			running = append(running, pod)
		}
	}
	return running
}
