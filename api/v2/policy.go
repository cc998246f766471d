package v2

import (
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Policy protects Services. Those of the cluster are CriticalServices, those of one
// namespace ServiceFallbacks; their names in a namespace therefore identify them, whatever
// the kind.
//
// +kubebuilder:object:generate=false
type Policy interface {
	metav1.Object
	runtime.Object
	// PolicyKind is the kind, as owner references and events name it.
	PolicyKind() schema.GroupVersionKind
	// Protection is the part of the spec that says what answers, and when.
	Protection() *ProtectionSpec
	// Observed is the status.
	Observed() *ProtectionStatus
	// Selects reports whether the spec means a Service, by the labels of its namespace
	// and its own name and labels. One with an invalid or empty selector means none.
	Selects(service metav1.Object, namespaceLabels map[string]string) bool
	// Selector is Selects, for many Services: the selectors are parsed once.
	Selector() func(service metav1.Object, namespaceLabels map[string]string) bool
	// InNamespaces are the only namespaces whose Services the spec may mean; empty is all.
	InNamespaces() []string
	// SelectorProblem says what is wrong with the selectors; nil if nothing is.
	SelectorProblem() error
}

var (
	_ Policy = &CriticalService{}
	_ Policy = &ServiceFallback{}
)

// PolicyKind is CriticalService.
func (c *CriticalService) PolicyKind() schema.GroupVersionKind { return CriticalServiceKind }

// Protection says what answers, and when.
func (c *CriticalService) Protection() *ProtectionSpec { return &c.Spec.ProtectionSpec }

// Observed is the status.
func (c *CriticalService) Observed() *ProtectionStatus { return &c.Status }

// Selects reports whether the spec means a Service.
func (c *CriticalService) Selects(service metav1.Object, namespaceLabels map[string]string) bool {
	return c.Spec.Selects(service.GetNamespace(), namespaceLabels, service.GetLabels())
}

// Selector is Selects with selectors that were parsed.
func (c *CriticalService) Selector() func(service metav1.Object, namespaceLabels map[string]string) bool {
	inNamespace, ofService := everything, parsed(&c.Spec.ServiceSelector)
	if c.Spec.NamespaceSelector != nil {
		inNamespace = parsed(c.Spec.NamespaceSelector)
	}
	empty := isEmpty(&c.Spec.ServiceSelector)
	return func(service metav1.Object, namespaceLabels map[string]string) bool {
		return !empty && reaches(c.Spec.Namespaces, service.GetNamespace()) && inNamespace(namespaceLabels) && ofService(service.GetLabels())
	}
}

// InNamespaces are the namespaces that the spec names; empty is all.
func (c *CriticalService) InNamespaces() []string { return c.Spec.Namespaces }

// SelectorProblem says what is wrong with the selectors.
func (c *CriticalService) SelectorProblem() error {
	if isEmpty(&c.Spec.ServiceSelector) {
		return errors.New("spec.serviceSelector: it is empty")
	}
	return c.Spec.ValidateSelectors().ToAggregate()
}

// IsEnforced reports whether the object comes before those of teams.
func (c *CriticalService) IsEnforced() bool { return c.Spec.Precedence == PrecedenceEnforced }

// PolicyKind is ServiceFallback.
func (s *ServiceFallback) PolicyKind() schema.GroupVersionKind { return ServiceFallbackKind }

// Protection says what answers, and when.
func (s *ServiceFallback) Protection() *ProtectionSpec { return &s.Spec.ProtectionSpec }

// Observed is the status.
func (s *ServiceFallback) Observed() *ProtectionStatus { return &s.Status }

// Selects reports whether the spec means a Service.
func (s *ServiceFallback) Selects(service metav1.Object, _ map[string]string) bool {
	return service.GetNamespace() == s.Namespace && s.Spec.Selects(service.GetName(), service.GetLabels())
}

// Selector is Selects with a selector that was parsed.
func (s *ServiceFallback) Selector() func(service metav1.Object, namespaceLabels map[string]string) bool {
	ofService := nothing
	if s.Spec.ServiceSelector != nil && !isEmpty(s.Spec.ServiceSelector) {
		ofService = parsed(s.Spec.ServiceSelector)
	}
	return func(service metav1.Object, _ map[string]string) bool {
		return service.GetNamespace() == s.Namespace && (s.Spec.Names(service.GetName()) || ofService(service.GetLabels()))
	}
}

// InNamespaces is the namespace of the object itself.
func (s *ServiceFallback) InNamespaces() []string { return []string{s.Namespace} }

// SelectorProblem says what is wrong with the selector.
func (s *ServiceFallback) SelectorProblem() error {
	switch {
	case len(s.Spec.Services) > 0:
		return nil
	case s.Spec.ServiceSelector == nil:
		return errors.New("spec: it has neither services nor serviceSelector, or more bytes than the operator reads (16 KiB)")
	case isEmpty(s.Spec.ServiceSelector):
		return errors.New("spec.serviceSelector: it is empty")
	default:
		return usable(s.Spec.ServiceSelector, field.NewPath("spec", "serviceSelector")).ToAggregate()
	}
}

// ReachesNamespace reports whether a Policy may mean Services of a namespace, whatever
// the labels of both are.
func ReachesNamespace(policy Policy, name string) bool { return reaches(policy.InNamespaces(), name) }

// Policies are the items, with which they share memory.
func (l *CriticalServiceList) Policies() []Policy {
	policies := make([]Policy, 0, len(l.Items))
	for i := range l.Items {
		policies = append(policies, &l.Items[i])
	}
	return policies
}

// Policies are the items, with which they share memory.
func (l *ServiceFallbackList) Policies() []Policy {
	policies := make([]Policy, 0, len(l.Items))
	for i := range l.Items {
		policies = append(policies, &l.Items[i])
	}
	return policies
}
