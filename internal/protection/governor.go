package protection

import (
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// IsActive reports whether a CriticalService counts: one that is being deleted names
// nothing, whatever its status still says.
func IsActive(policy *criticalv2.CriticalService) bool { return policy.DeletionTimestamp == nil }

// Matches reports whether a CriticalService names a Service as critical.
func Matches(policy *criticalv2.CriticalService, service *corev1.Service, namespaceLabels map[string]string) bool {
	return IsActive(policy) && policy.Spec.Selects(service.Namespace, namespaceLabels, service.Labels)
}

// Matching lists the CriticalServices that match a Service, by name: the first one
// governs it.
func Matching(policies []criticalv2.CriticalService, service *corev1.Service, namespaceLabels map[string]string) []*criticalv2.CriticalService {
	var matching []*criticalv2.CriticalService
	for i := range policies {
		if Matches(&policies[i], service, namespaceLabels) {
			matching = append(matching, &policies[i])
		}
	}
	slices.SortFunc(matching, func(a, b *criticalv2.CriticalService) int { return strings.Compare(a.Name, b.Name) })
	return matching
}

// Governor is the CriticalService that governs a Service; nil if none does.
func Governor(policies []criticalv2.CriticalService, service *corev1.Service, namespaceLabels map[string]string) *criticalv2.CriticalService {
	if matching := Matching(policies, service, namespaceLabels); len(matching) > 0 {
		return matching[0]
	}
	return nil
}

// OptedOut reports whether the owner of a Service does not want it protected.
func OptedOut(service *corev1.Service) bool {
	return service.Annotations[criticalv2.AnnotationCriticalService] == criticalv2.OptOut
}

// SelectorProblem says what is wrong with the selectors of a CriticalService; nil
// if nothing is. One whose selector is not valid matches nothing.
func SelectorProblem(policy *criticalv2.CriticalService) error {
	selector := &policy.Spec.ServiceSelector
	if len(selector.MatchLabels)+len(selector.MatchExpressions) == 0 {
		return errors.New("spec.serviceSelector: it is empty")
	}
	return policy.Spec.ValidateSelectors().ToAggregate()
}
