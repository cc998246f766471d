package protection

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// IsActive reports whether a policy counts: one that is being deleted names nothing,
// whatever its status still says.
func IsActive(policy criticalv2.Policy) bool { return policy.GetDeletionTimestamp() == nil }

// Matches reports whether a policy means a Service.
func Matches(policy criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) bool {
	return IsActive(policy) && policy.Selects(service, namespaceLabels)
}

// Matching lists the policies that match a Service: the first one governs it.
func Matching(policies []criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) []criticalv2.Policy {
	var matching []criticalv2.Policy
	for _, policy := range policies {
		if Matches(policy, service, namespaceLabels) {
			matching = append(matching, policy)
		}
	}
	slices.SortFunc(matching, func(a, b criticalv2.Policy) int { return strings.Compare(a.GetName(), b.GetName()) })
	return matching
}

// Governor is the policy that governs a Service; nil if none does.
func Governor(policies []criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) criticalv2.Policy {
	if matching := Matching(policies, service, namespaceLabels); len(matching) > 0 {
		return matching[0]
	}
	return nil
}

// OptedOut reports whether the owner of a Service does not want it protected.
func OptedOut(service *corev1.Service) bool {
	return service.Annotations[criticalv2.AnnotationCriticalService] == criticalv2.OptOut
}
