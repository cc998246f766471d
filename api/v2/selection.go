package v2

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Selects reports whether a spec names a Service as critical: by its namespace, and
// by the Service's own labels. A selector that is invalid or empty selects
// nothing: an object that got past the schema must not make every Service critical.
func (s *CriticalServiceSpec) Selects(namespace string, namespaceLabels, serviceLabels map[string]string) bool {
	if !reaches(s.Namespaces, namespace) {
		return false
	}
	if s.NamespaceSelector != nil && !selects(s.NamespaceSelector, namespaceLabels) {
		return false
	}
	return selectsSome(&s.ServiceSelector, serviceLabels)
}

// Names reports whether a spec gives the name of a Service.
func (s *ServiceFallbackSpec) Names(service string) bool { return slices.Contains(s.Services, service) }

// Selects reports whether a spec means a Service of its namespace, by name or by labels.
// A selector that is invalid or empty selects nothing.
func (s *ServiceFallbackSpec) Selects(service string, serviceLabels map[string]string) bool {
	return s.Names(service) || s.ServiceSelector != nil && selectsSome(s.ServiceSelector, serviceLabels)
}

func reaches(namespaces []string, name string) bool {
	return len(namespaces) == 0 || slices.Contains(namespaces, name)
}

func isEmpty(selector *metav1.LabelSelector) bool {
	return len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

// selectsSome is selects, for a selector that may not be empty.
func selectsSome(selector *metav1.LabelSelector, set map[string]string) bool {
	return !isEmpty(selector) && selects(selector, set)
}

func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	return parsed(selector)(set)
}

// parsed is what a selector says of labels. Without expressions there is nothing to parse,
// which costs more than to compare. One that is invalid selects nothing.
func parsed(selector *metav1.LabelSelector) func(set map[string]string) bool {
	if len(selector.MatchExpressions) == 0 {
		return func(set map[string]string) bool { return hasAll(set, selector.MatchLabels) }
	}
	whole, err := metav1.LabelSelectorAsSelector(selector)
	if err != nil {
		return nothing
	}
	return func(set map[string]string) bool { return whole.Matches(labels.Set(set)) }
}

func everything(map[string]string) bool { return true }

func nothing(map[string]string) bool { return false }

func hasAll(set, wanted map[string]string) bool {
	for key, value := range wanted {
		if has, found := set[key]; !found || has != value {
			return false
		}
	}
	return true
}
