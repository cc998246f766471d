package access

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// Governor names the policy that governs a Service, in documents and texts.
type Governor struct {
	// Kind is CriticalService or ServiceFallback.
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Tier is why it governs: Enforced, Named, Selected or Default; empty where that is not
	// known.
	Tier string `json:"tier,omitempty"`
}

// String is KIND/NAME, and empty without a governor.
func (g Governor) String() string {
	if g.Kind == "" {
		return ""
	}
	return g.Kind + "/" + g.Name
}

// GovernorOf is the governor of a Service by the status of one of the policies that match
// it: the policy itself, or the one that overrides it.
func GovernorOf(policy criticalv2.Policy, detail *criticalv2.ServiceStatus) Governor {
	by := detail.OverriddenBy
	if by == nil {
		return Governor{Kind: policy.PolicyKind().Kind, Name: policy.GetName(), Tier: protection.TierOf(policy, detail.Name).String()}
	}
	governor := Governor{Kind: by.Kind, Name: by.Name}
	if governor.Kind == criticalv2.CriticalServiceKind.Kind && governor.Kind != policy.PolicyKind().Kind {
		governor.Tier = protection.TierEnforced.String() // No other comes before a ServiceFallback.
	}
	return governor
}

// Title names a policy in a sentence.
func Title(policy criticalv2.Policy) string {
	return policy.PolicyKind().Kind + " " + policy.GetName()
}

// Matching are the policies that match a Service, the one that governs it first. A
// ServiceFallback that counts for nothing comes last, and so does one that the operator has
// not looked at: it is new, or the operator follows none.
func Matching(policies []criticalv2.Policy, service *corev1.Service, namespaceLabels map[string]string) []criticalv2.Policy {
	last := func(policy criticalv2.Policy) int {
		if policy.GetNamespace() != "" && (Misdirected(policy) != nil || policy.Observed().ObservedGeneration <= 0) {
			return 1
		}
		return 0
	}
	matching := protection.Matching(policies, service, namespaceLabels)
	slices.SortStableFunc(matching, func(a, b criticalv2.Policy) int { return cmp.Compare(last(a), last(b)) })
	return matching
}

// Misdirected is the condition of a policy that says that the operator does not do what the
// policy wants, as a whole: its selector is invalid, its namespace is not watched, or there
// are too many of them. It is nil where the operator does.
func Misdirected(policy criticalv2.Policy) *metav1.Condition {
	ready := meta.FindStatusCondition(policy.Observed().Conditions, criticalv2.ConditionReady)
	if ready != nil && ready.Status == metav1.ConditionFalse && ready.Reason != criticalv2.ConditionReasonNotProtected {
		return ready
	}
	return nil
}
