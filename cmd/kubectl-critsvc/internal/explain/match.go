package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/output"
	"github.com/critical-service/operator/internal/protection"
)

// mostNear is how many policies are shown that nearly match.
const mostNear = 3

// matching are the policies that match the Service, the one that governs it first.
func (f *facts) matching() []criticalv2.Policy {
	return access.Matching(f.policies, f.service, f.namespaceLabels)
}

// matchOf says of which tier a policy is that matches the Service, and by what it matches.
func (f *facts) matchOf(policy criticalv2.Policy) Match {
	return Match{
		Governor: access.Governor{Kind: policy.PolicyKind().Kind, Name: policy.GetName(), Tier: protection.TierOf(policy, f.service.Name).String()},
		Why:      why(policy, f.service.Name),
	}
}

// why says by what a policy matches.
func why(policy criticalv2.Policy, service string) string {
	switch policy := policy.(type) {
	case *criticalv2.ServiceFallback:
		if policy.Spec.Names(service) {
			return "it names the Service"
		}
		return fmt.Sprintf("it selects Services labeled %s in its namespace", metav1.FormatLabelSelector(policy.Spec.ServiceSelector))
	case *criticalv2.CriticalService:
		return fmt.Sprintf("it selects Services labeled %s in %s", metav1.FormatLabelSelector(&policy.Spec.ServiceSelector), where(&policy.Spec))
	default:
		return ""
	}
}

// where says in which namespaces a CriticalService selects.
func where(spec *criticalv2.CriticalServiceSpec) string {
	switch {
	case len(spec.Namespaces) == 1:
		return "namespace " + spec.Namespaces[0]
	case len(spec.Namespaces) > 1:
		return "the namespaces " + strings.Join(spec.Namespaces, ", ")
	case spec.NamespaceSelector != nil:
		return "namespaces labeled " + metav1.FormatLabelSelector(spec.NamespaceSelector)
	default:
		return "every namespace"
	}
}

// nearest are the policies for which the Service lacks the least.
func (f *facts) nearest() []Near {
	var near []Near
	for _, policy := range f.policies {
		if !protection.IsActive(policy) {
			continue
		}
		if missing := f.missing(policy); len(missing) > 0 {
			near = append(near, Near{Kind: policy.PolicyKind().Kind, Name: policy.GetName(), Missing: missing})
		}
	}
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(len(a.Missing), len(b.Missing)), strings.Compare(a.Name, b.Name))
	})
	return near[:min(len(near), mostNear)]
}

// missing says what a Service lacks to be matched.
func (f *facts) missing(policy criticalv2.Policy) []string {
	if err := policy.SelectorProblem(); err != nil {
		return []string{fmt.Sprintf("a selector that is valid: %v", err)}
	}
	switch policy := policy.(type) {
	case *criticalv2.ServiceFallback:
		if policy.Spec.ServiceSelector == nil {
			return []string{"its name in spec.services, which has " + output.Names(policy.Spec.Services, mostListed)}
		}
		return lacking(policy.Spec.ServiceSelector, f.service.Labels, "the label")
	case *criticalv2.CriticalService:
		return f.missingOf(&policy.Spec)
	default:
		return nil
	}
}

// missingOf says what a Service lacks to be matched by a CriticalService.
func (f *facts) missingOf(spec *criticalv2.CriticalServiceSpec) []string {
	texts := lacking(&spec.ServiceSelector, f.service.Labels, "the label")
	if len(spec.Namespaces) > 0 && !slices.Contains(spec.Namespaces, f.service.Namespace) {
		texts = append(texts, fmt.Sprintf("to be in a namespace of: %s", strings.Join(spec.Namespaces, ", ")))
	}
	if spec.NamespaceSelector != nil {
		texts = append(texts, lacking(spec.NamespaceSelector, f.namespaceLabels, "its namespace to have the label")...)
	}
	return texts
}

// lacking says which requirements of a selector a set of labels does not meet.
func lacking(selector *metav1.LabelSelector, set map[string]string, what string) []string {
	has := func(key string) string {
		if value, found := set[key]; found {
			return fmt.Sprintf(" (it has %s=%s)", key, value)
		}
		return ""
	}
	var texts []string
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if value, found := set[key]; !found || value != selector.MatchLabels[key] {
			texts = append(texts, fmt.Sprintf("%s %s=%s%s", what, key, selector.MatchLabels[key], has(key)))
		}
	}
	for _, requirement := range selector.MatchExpressions {
		alone := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
		if parsed, err := metav1.LabelSelectorAsSelector(alone); err == nil && !parsed.Matches(labels.Set(set)) {
			texts = append(texts, fmt.Sprintf("%s %s%s", what, metav1.FormatLabelSelector(alone), has(requirement.Key)))
		}
	}
	return texts
}
