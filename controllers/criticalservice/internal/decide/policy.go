package decide

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	criticalv1 "github.com/critical-service/operator/api/v1"
)

// Matches tells whether a CriticalService names a Service as critical: by
// namespace, and by the Service's own labels. One that is being deleted names
// nothing.
func Matches(policy *criticalv1.CriticalService, service *corev1.Service) bool {
	if policy.DeletionTimestamp != nil {
		return false
	}
	if policy.Spec.Namespace != "" && policy.Spec.Namespace != service.Namespace {
		return false
	}
	for _, match := range policy.Spec.MatchLabels {
		if value, found := service.Labels[match.Key]; !found || value != match.Value {
			return false
		}
	}
	// The schema demands at least one label. An object that got past it must
	// not make every Service critical.
	return len(policy.Spec.MatchLabels) > 0
}

// governor is the first matching CriticalService by name.
func governor(policies []criticalv1.CriticalService, service *corev1.Service) *criticalv1.CriticalService {
	var first *criticalv1.CriticalService
	for i := range policies {
		policy := &policies[i]
		if Matches(policy, service) && (first == nil || policy.Name < first.Name) {
			first = policy
		}
	}
	return first
}

// ignored says why a Service cannot or must not be protected; the reason is
// empty where it can.
func ignored(service *corev1.Service) (reason, message string) {
	switch {
	case service.DeletionTimestamp != nil:
		return criticalv1.ReasonTerminating, "The Service is being deleted."
	case service.Annotations[criticalv1.AnnotationCriticalService] == criticalv1.OptOut:
		return criticalv1.ReasonOptedOut, "The Service's owner opted out with the annotation " +
			criticalv1.AnnotationCriticalService + ": " + criticalv1.OptOut + "."
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return criticalv1.ReasonExternalName, "A Service of type ExternalName is a DNS alias and has no endpoints to fall back for."
	case len(service.Spec.Selector) == 0:
		return criticalv1.ReasonNoSelector, "The Service has no selector, so no fallback Pod can become its endpoint."
	}
	for key := range service.Spec.Selector {
		if strings.HasPrefix(key, criticalv1.ReservedPrefix) {
			return criticalv1.ReasonReservedSelector, "The Service's selector uses a label under " + criticalv1.ReservedPrefix +
				", which is reserved for fallbacks; select the application's Pods by a label of their own."
		}
	}
	return "", ""
}
