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
	"github.com/critical-service/operator/internal/protection"
)

// mostNear is how many CriticalServices are shown that nearly match.
const mostNear = 3

// matching are the CriticalServices that match the Service, the one that governs
// it first.
func (f *facts) matching() []*criticalv2.CriticalService {
	list := criticalv2.CriticalServiceList{Items: f.policies}
	var matching []*criticalv2.CriticalService
	for _, policy := range protection.Matching(list.Policies(), f.service, f.namespaceLabels) {
		matching = append(matching, policy.(*criticalv2.CriticalService))
	}
	return matching
}

// why says by what a CriticalService matches.
func why(spec *criticalv2.CriticalServiceSpec) string {
	where := "every namespace"
	switch {
	case len(spec.Namespaces) == 1:
		where = "namespace " + spec.Namespaces[0]
	case len(spec.Namespaces) > 1:
		where = "the namespaces " + strings.Join(spec.Namespaces, ", ")
	case spec.NamespaceSelector != nil:
		where = "namespaces labeled " + metav1.FormatLabelSelector(spec.NamespaceSelector)
	}
	return fmt.Sprintf("it selects Services labeled %s in %s", metav1.FormatLabelSelector(&spec.ServiceSelector), where)
}

// nearest are the CriticalServices for which the Service lacks the least.
func (f *facts) nearest() []Near {
	var near []Near
	for i := range f.policies {
		policy := &f.policies[i]
		if policy.DeletionTimestamp != nil {
			continue
		}
		if missing := f.missing(&policy.Spec); len(missing) > 0 {
			near = append(near, Near{Name: policy.Name, Missing: missing})
		}
	}
	slices.SortFunc(near, func(a, b Near) int {
		return cmp.Or(cmp.Compare(len(a.Missing), len(b.Missing)), strings.Compare(a.Name, b.Name))
	})
	return near[:min(len(near), mostNear)]
}

// missing says what a Service lacks to be matched.
func (f *facts) missing(spec *criticalv2.CriticalServiceSpec) []string {
	if errs := spec.ValidateSelectors(); len(errs) > 0 {
		return []string{fmt.Sprintf("a selector that is valid: %v", errs.ToAggregate())}
	}
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
