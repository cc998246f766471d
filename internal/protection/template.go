package protection

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/pod-security-admission/api"
	podsecurity "k8s.io/pod-security-admission/policy"
	"k8s.io/utils/ptr"

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

// ForTeam says why Pods of a template may not run on behalf of a ServiceFallback; empty if
// they may. Its author may not be allowed to make such Pods, and the operator is: they meet
// the level restricted of Pod Security, run as the ServiceAccount default, and have no token
// of it.
func ForTeam(template *corev1.PodTemplateSpec) string {
	spec, level := &template.Spec, api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	if result := podsecurity.AggregateCheckResults(restricted.EvaluatePod(level, &template.ObjectMeta, spec)); !result.Allowed {
		return "it does not meet the level restricted of Pod Security: " + result.ForbiddenDetail()
	}
	if account := cmp.Or(spec.ServiceAccountName, spec.DeprecatedServiceAccount, defaultAccount); account != defaultAccount {
		return fmt.Sprintf("it runs as ServiceAccount %q: only %q may be used", account, defaultAccount)
	}
	if ptr.Deref(spec.AutomountServiceAccountToken, false) || slices.ContainsFunc(spec.Volumes, projectsIdentity) {
		return "it gives its containers a token of the ServiceAccount, or a certificate of the Pod: set automountServiceAccountToken to false, and project neither"
	}
	return ""
}

// restricted knows the checks of Pod Security. The checks of the library are valid, so that
// no error can come.
var restricted = func() podsecurity.Evaluator {
	evaluator, _ := podsecurity.NewEvaluator(podsecurity.DefaultChecks(), nil)
	return evaluator
}()

// defaultAccount is the ServiceAccount that every namespace has, and to which nothing is granted.
const defaultAccount = "default"

func projectsIdentity(volume corev1.Volume) bool {
	return volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(source corev1.VolumeProjection) bool {
		return source.ServiceAccountToken != nil || source.PodCertificate != nil
	})
}

// Allows reports whether the PodTemplate that a policy means may be used for
// Services of a namespace: the default one, and else one of the operator's namespace
// or of the Service's own. A user who may edit a template elsewhere must not get Pods
// run in the namespace of others.
func (t Templates) Allows(policy criticalv2.Policy, namespace string) bool {
	name, fallback := t.Named(policy), policy.Protection().Fallback.PodTemplate
	return fallback.Name == "" || name.Namespace == t.OperatorNamespace || name.Namespace == namespace
}
