//go:build e2e

package olm

import (
	"strings"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// maintained takes the application away for a maintenance of an editor that owes it its replicas: the operator is
// permitted to give them back, and has recorded them, before.
func (s *service) maintained() *criticalv2.Maintenance {
	s.t.Helper()
	m := &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.object.Namespace, Name: s.object.Name},
		Spec: criticalv2.MaintenanceSpec{
			Services: []string{s.object.Name}, Message: pageSentence, Until: new(metav1.NewTime(time.Now().Add(2 * time.Hour))),
			Restore: &criticalv2.WorkloadReplicas{Deployment: s.deployment.Name, Replicas: *s.deployment.Spec.Replicas},
		},
	}
	s.Expect(s.editor().Create(s.ctx, m)).To(Succeed())
	s.Eventually(s.statusOf(m)).Should(HaveField("Operator", HavePrefix("system:serviceaccount:"+s.operator+":")))
	s.permits(m)
	s.Eventually(s.statusOf(m)).Should(HaveField("Owed", Equal(m.Spec.Restore)))
	s.Expect(m.Finalizers).To(ContainElement(criticalv2.FinalizerRestore))
	s.standsIn(thePage)
	return m
}

// permits lets the operator restore what a Maintenance says, by the name that it has there. The permission goes with
// the Maintenance.
func (s *service) permits(m *criticalv2.Maintenance) {
	s.t.Helper()
	account := strings.Split(m.Status.Operator, ":")
	s.Expect(account).To(HaveLen(4))
	meta := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name + "-maintenance",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(m, criticalv2.MaintenanceKind)},
	}
	s.Expect(s.Create(s.ctx, &rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{criticalv2.GroupVersion.Group}, Resources: []string{"maintenances"}, ResourceNames: []string{criticalv2.RestoreName(m.Name, m.Spec.Restore)}, Verbs: []string{criticalv2.VerbRestore}},
		{APIGroups: []string{appsv1.GroupName}, Resources: []string{"deployments/scale"}, ResourceNames: []string{m.Spec.Restore.Deployment}, Verbs: []string{"get", "patch"}},
	}})).To(Succeed())
	s.Expect(s.Create(s.ctx, &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account[2], Name: account[3]}},
	})).To(Succeed())
}

// statusOf reads a Maintenance.
func (w *world) statusOf(m *criticalv2.Maintenance) func(g Gomega) criticalv2.MaintenanceStatus {
	return func(g Gomega) criticalv2.MaintenanceStatus {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
		return m.Status
	}
}

// isGivenBack ends a maintenance, and waits until the operator has given the application back.
func (s *service) isGivenBack(m *criticalv2.Maintenance) {
	s.t.Helper()
	owed := *m.Spec.Restore
	change(s.world, m, func(m *criticalv2.Maintenance) { m.Spec.Until = new(metav1.Now()) })
	s.Eventually(s.statusOf(m)).Should(And(HaveField("Restored", Equal(&owed)), HaveField("Owed", BeNil()), HaveField("Ended", Not(BeNil()))))
	s.Eventually(func(g Gomega) []string {
		g.Expect(s.Get(s.ctx, client.ObjectKeyFromObject(m), m)).To(Succeed())
		return m.Finalizers
	}).Should(BeEmpty())
	s.Expect(s.Get(s.ctx, client.ObjectKeyFromObject(s.deployment), s.deployment)).To(Succeed())
	s.Expect(s.deployment.Spec.Replicas).To(HaveValue(Equal(owed.Replicas)))
	s.becomes(criticalv2.StateArmed).answeredBy(s.object.Name)
	s.remove(m, soon)
}
