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
	if !s.ReachesNamespace(namespace) {
		return false
	}
	if s.NamespaceSelector != nil && !selects(s.NamespaceSelector, namespaceLabels) {
		return false
	}
	empty := len(s.ServiceSelector.MatchLabels)+len(s.ServiceSelector.MatchExpressions) == 0
	return !empty && selects(&s.ServiceSelector, serviceLabels)
}

// ReachesNamespace reports whether a spec may select Services of a namespace, whatever
// the labels of both are.
func (s *CriticalServiceSpec) ReachesNamespace(name string) bool {
	return len(s.Namespaces) == 0 || slices.Contains(s.Namespaces, name)
}

func selects(selector *metav1.LabelSelector, set map[string]string) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(set))
}
