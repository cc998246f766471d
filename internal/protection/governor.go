package protection

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// IsActive reports whether a policy counts: one that is being deleted names nothing,
// whatever its status still says.
func IsActive(policy criticalv2.Policy) bool { return policy.GetDeletionTimestamp() == nil }

// Matches reports whether a policy means a Service.
func Matches(policy criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) bool {
	return IsActive(policy) && policy.Selects(service, namespaceLabels)
}

// MaxFallbacks is how many ServiceFallbacks of a namespace count. Any user of it can make
// thousands, and each Service there is compared with all of them.
const MaxFallbacks = 100

// Counting are the ServiceFallbacks of a namespace that count, which are the oldest, by age, so
// that a new one does not take the place of another; and the first that does not, if any.
func Counting(fallbacks []criticalv2.Policy) (counting []criticalv2.Policy, next criticalv2.Policy) {
	counting = make([]criticalv2.Policy, 0, min(len(fallbacks), MaxFallbacks+1))
	for _, fallback := range fallbacks {
		// Of thousands, all but a few are younger than the last that counts.
		if len(counting) > MaxFallbacks && byAge(fallback, counting[MaxFallbacks]) > 0 {
			continue
		}
		at, _ := slices.BinarySearchFunc(counting, fallback, byAge)
		counting = slices.Insert(counting, at, fallback)
		counting = counting[:min(len(counting), MaxFallbacks+1)]
	}
	if len(counting) > MaxFallbacks {
		return counting[:MaxFallbacks], counting[MaxFallbacks]
	}
	return counting, nil
}

func byAge(a, b criticalv2.Policy) int {
	return cmp.Or(a.GetCreationTimestamp().Compare(b.GetCreationTimestamp().Time), strings.Compare(a.GetName(), b.GetName()))
}

// Tier is how a policy came to match a Service: the first tier goes before the others. It
// has the three tiers of network policies (enforced by the administrator, the team's own,
// the administrator's default), and what names a Service goes before what selects it (as in
// the Gateway API, GEP-713).
type Tier int

const (
	// TierEnforced is a CriticalService with precedence Enforced.
	TierEnforced Tier = iota
	// TierNamed is a ServiceFallback that names the Service.
	TierNamed
	// TierSelected is a ServiceFallback that selects the Service by its labels.
	TierSelected
	// TierDefault is any other CriticalService.
	TierDefault
)

func (t Tier) String() string { return [...]string{"Enforced", "Named", "Selected", "Default"}[t] }

// TierOf is the tier in which a policy matches the Service of a name.
func TierOf(policy criticalv2.Policy, service string) Tier {
	switch policy := policy.(type) {
	case *criticalv2.ServiceFallback:
		if policy.Spec.Names(service) {
			return TierNamed
		}
		return TierSelected
	case *criticalv2.CriticalService:
		if policy.IsEnforced() {
			return TierEnforced
		}
	}
	return TierDefault
}

// Matching lists the policies that match a Service, by tier and then by name: the first one
// governs it.
func Matching(policies []criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) []criticalv2.Policy {
	var matching []criticalv2.Policy
	for _, policy := range policies {
		if Matches(policy, service, namespaceLabels) {
			matching = append(matching, policy)
		}
	}
	slices.SortFunc(matching, func(a, b criticalv2.Policy) int { return precedes(a, b, service.Name) })
	return matching
}

// Governor is the policy that governs a Service; nil if none does.
func Governor(policies []criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) criticalv2.Policy {
	if matching := Matching(policies, service, namespaceLabels); len(matching) > 0 {
		return matching[0]
	}
	return nil
}

// Governors is Governor, for many Services of a namespace: the selectors are parsed once.
func Governors(policies []criticalv2.Policy, namespaceLabels map[string]string) func(*corev1.Service) criticalv2.Policy {
	selects := make([]func(metav1.Object, map[string]string) bool, 0, len(policies))
	for _, policy := range policies {
		selects = append(selects, policy.Selector())
	}
	return func(service *corev1.Service) criticalv2.Policy {
		var first criticalv2.Policy
		for i, policy := range policies {
			if IsActive(policy) && selects[i](service, namespaceLabels) && (first == nil || precedes(policy, first, service.Name) < 0) {
				first = policy
			}
		}
		return first
	}
}

// precedes compares two policies that match the Service of a name.
func precedes(a, b criticalv2.Policy, service string) int {
	return cmp.Or(cmp.Compare(TierOf(a, service), TierOf(b, service)), strings.Compare(a.GetName(), b.GetName()))
}

// OptedOut reports whether the owner of a Service does not want it protected, and the policy
// that governs it, if any, lets him have his way.
func OptedOut(service *corev1.Service, governor criticalv2.Policy) bool {
	return service.Annotations[criticalv2.AnnotationCriticalService] == criticalv2.OptOut &&
		(governor == nil || TierOf(governor, service.Name) != TierEnforced)
}
