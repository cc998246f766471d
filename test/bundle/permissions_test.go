package bundle

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
)

// needlessUnderOLM are the verbs of the markers that the bundle leaves out, by resource: OLM mounts the
// certificates of the webhook, and writes itself whom the API server trusts.
var needlessUnderOLM = map[string][]string{
	"secrets":                         {"create", "get", "list", "update", "watch"},
	"customresourcedefinitions":       {"patch"},
	"validatingwebhookconfigurations": {"get", "list", "patch", "watch"},
}

// underOLM are rules without what is needless there.
func underOLM(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return withoutVerbs(rules, needlessUnderOLM)
}

// withoutVerbs are rules without some verbs of some resources.
func withoutVerbs(rules []rbacv1.PolicyRule, needless map[string][]string) []rbacv1.PolicyRule {
	var kept []rbacv1.PolicyRule
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool {
				return slices.Contains(needless[resource], verb)
			})
		}
		if len(rule.Verbs) > 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}

// granted are the rules of the operator in its install without OLM, for all namespaces and for its own.
func granted(g Gomega) (everywhere, athome []rbacv1.PolicyRule) {
	for _, role := range all[rbacv1.ClusterRole](g, "config/rbac/role.yaml", "ClusterRole") {
		everywhere = append(everywhere, role.Rules...)
	}
	for _, role := range all[rbacv1.Role](g, "config/rbac/role.yaml", "Role") {
		athome = append(athome, role.Rules...)
	}
	return everywhere, athome
}

func TestTheOperatorsPermissionsAreThoseOfTheMarkers(t *testing.T) {
	g := NewWithT(t)
	strategy := csv(g).Spec.InstallStrategy.StrategySpec
	g.Expect(strategy.ClusterPermissions).To(HaveLen(1))
	g.Expect(strategy.Permissions).To(HaveLen(1))
	account := manager(g).Spec.Template.Spec.ServiceAccountName
	g.Expect(strategy.ClusterPermissions[0].ServiceAccountName).To(Equal(account))
	g.Expect(strategy.Permissions[0].ServiceAccountName).To(Equal(account))
	everywhere, athome := granted(g)
	g.Expect(strategy.ClusterPermissions[0].Rules).To(Equal(underOLM(everywhere)))
	g.Expect(strategy.Permissions[0].Rules).To(Equal(underOLM(athome)))

	// What is left out must be there in the other installs: else it has another name now, and is not left out.
	for resource, verbs := range needlessUnderOLM {
		found := map[string]bool{}
		for _, rule := range slices.Concat(everywhere, athome) {
			for _, verb := range rule.Verbs {
				found[verb] = found[verb] || slices.Contains(rule.Resources, resource)
			}
		}
		for _, verb := range verbs {
			g.Expect(found).To(HaveKeyWithValue(verb, true), resource)
		}
	}
}

func TestAPageNeedsNoPermissionToChangePods(t *testing.T) {
	g := NewWithT(t)
	for _, role := range all[rbacv1.ClusterRole](g, "config/rbac/role.yaml", "ClusterRole") {
		if role.Name == "critical-service-operator-pod-templates" {
			continue
		}
		for _, rule := range role.Rules {
			g.Expect(rule.Resources).NotTo(ContainElement("podtemplates"))
			if slices.Contains(rule.Resources, "pods") {
				g.Expect(rule.Verbs).To(ConsistOf("get", "list", "watch"))
			}
		}
	}
}

func TestNoPermissionIsWiderThanItMustBe(t *testing.T) {
	g := NewWithT(t)
	secrets := 0
	everywhere, athome := granted(g)
	for _, rule := range slices.Concat(everywhere, athome) {
		for _, part := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.ResourceNames, rule.NonResourceURLs} {
			g.Expect(part).NotTo(ContainElement(ContainSubstring("*")))
		}
		if !slices.Contains(rule.Resources, "secrets") {
			continue
		}
		secrets++
		// What is to be made has no name yet, and is not read by making it.
		if !slices.Equal(rule.Verbs, []string{"create"}) {
			g.Expect(rule.ResourceNames).To(ConsistOf("critical-service-webhook-ca"), "%v", rule)
		}
	}
	g.Expect(secrets).To(Equal(2), "this looks at the rules for Secrets")
}

// named are the resources of rules as kubectl writes them: with their group where another one has the name too.
func named(rules []rbacv1.PolicyRule) []string {
	groups := map[string][]string{}
	for _, rule := range rules {
		for _, resource := range rule.Resources {
			groups[resource] = append(groups[resource], rule.APIGroups...)
		}
	}
	var names []string
	for resource, of := range groups {
		slices.Sort(of)
		of = slices.Compact(of)
		for _, group := range of {
			if len(of) > 1 && group != "" {
				names = append(names, resource+"."+group)
			} else {
				names = append(names, resource)
			}
		}
	}
	return names
}

// saidToBeGranted are the resources that a text names where it says what the operator may do, below a heading.
func saidToBeGranted(g Gomega, text, heading string) []string {
	_, part, found := strings.Cut(text, heading)
	g.Expect(found).To(BeTrue())
	part = regexp.MustCompile(`(?m)^(## |\*\*)`).Split(part, 2)[0]
	var names []string
	for _, word := range regexp.MustCompile("`([a-z]+(?:/[a-z]+)?(?:\\.[a-z0-9.]+)?)`").FindAllStringSubmatch(part, -1) {
		names = append(names, word[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Administrators read this before they install an operator for all namespaces.
func TestWhatTheOperatorMayDoIsSaidInFull(t *testing.T) {
	g := NewWithT(t)
	strategy := csv(g).Spec.InstallStrategy.StrategySpec
	g.Expect(saidToBeGranted(g, csv(g).Spec.Description, "**What it may do**")).To(ConsistOf(
		named(slices.Concat(strategy.ClusterPermissions[0].Rules, strategy.Permissions[0].Rules))), "the description in a catalog")
	everywhere, athome := granted(g)
	g.Expect(saidToBeGranted(g, read(g, "docs/install.md"), "\n## Permissions\n")).To(ConsistOf(named(slices.Concat(everywhere, athome))), "docs/install.md")
}
