package bundle

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
)

func TestTheOperatorsPermissionsAreThoseOfTheMarkers(t *testing.T) {
	g := NewWithT(t)
	strategy := csv(g).Spec.InstallStrategy.StrategySpec
	g.Expect(strategy.ClusterPermissions).To(HaveLen(1))
	g.Expect(strategy.Permissions).To(HaveLen(1))
	account := manager(g).Spec.Template.Spec.ServiceAccountName
	g.Expect(strategy.ClusterPermissions[0].ServiceAccountName).To(Equal(account))
	g.Expect(strategy.Permissions[0].ServiceAccountName).To(Equal(account))
	g.Expect(strategy.ClusterPermissions[0].Rules).To(Equal(document[rbacv1.ClusterRole](g, "config/rbac/role.yaml", "ClusterRole").Rules))
	g.Expect(strategy.Permissions[0].Rules).To(Equal(document[rbacv1.Role](g, "config/rbac/role.yaml", "Role").Rules))
	secrets := 0
	for _, rule := range slices.Concat(strategy.ClusterPermissions[0].Rules, strategy.Permissions[0].Rules) {
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
