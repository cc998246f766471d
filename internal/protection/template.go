package protection

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Templates are the settings that decide which PodTemplate a fallback means.
type Templates struct {
	// Default is the PodTemplate of fallbacks that name none.
	Default types.NamespacedName
	// OperatorNamespace is where a PodTemplate is looked for whose namespace is not
	// named; those in it may be used for every Service.
	OperatorNamespace string
}

// Named is the PodTemplate that the fallback of a policy means; none if it means none. A
// ServiceFallback means one of its own namespace, whatever it says.
func (t Templates) Named(policy criticalv2.Policy) types.NamespacedName {
	fallback := policy.Protection().Fallback.PodTemplate
	switch {
	case fallback == nil:
		return types.NamespacedName{}
	case policy.GetNamespace() != "":
		return types.NamespacedName{Namespace: policy.GetNamespace(), Name: fallback.Name}
	case fallback.Name == "":
		return t.Default
	case fallback.Namespace == "":
		return types.NamespacedName{Namespace: t.OperatorNamespace, Name: fallback.Name}
	default:
		return types.NamespacedName{Namespace: fallback.Namespace, Name: fallback.Name}
	}
}

// IsNamed reports whether a policy means a PodTemplate.
func (t Templates) IsNamed(name types.NamespacedName, policies []criticalv2.Policy) bool {
	return slices.ContainsFunc(policies, func(policy criticalv2.Policy) bool { return t.Named(policy) == name })
}

// Reach is the namespace whose Services alone may use a PodTemplate; empty if all may.
func (t Templates) Reach(name types.NamespacedName) string {
	if name == t.Default || name.Namespace == t.OperatorNamespace {
		return ""
	}
	return name.Namespace
}

// Allows reports whether the PodTemplate that a policy means may be used for
// Services of a namespace: the default one, and else one of the operator's namespace
// or of the Service's own. A user who may edit a template elsewhere must not get Pods
// run in the namespace of others.
func (t Templates) Allows(policy criticalv2.Policy, namespace string) bool {
	name, fallback := t.Named(policy), policy.Protection().Fallback.PodTemplate
	return fallback.Name == "" || name.Namespace == t.OperatorNamespace || name.Namespace == namespace
}
