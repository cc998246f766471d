package outagetest

import (
	"context"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// follow does what the operator does when a Maintenance has changed.
func (w *World) follow(ctx context.Context, to client.Client, key client.ObjectKey) {
	w.t.Helper()
	m := &criticalv2.Maintenance{}
	if to.Get(ctx, key, m) != nil {
		return // It is gone.
	}
	m.Status.Operator, m.Status.ObservedGeneration = w.Operator, m.Generation
	says(m, criticalv2.MaintenanceActive, metav1.ConditionTrue, criticalv2.MaintenanceAnnounced)
	restorable := m.Spec.Restore != nil && m.Status.Owed == nil && m.Status.Restored == nil && m.DeletionTimestamp == nil
	switch {
	case restorable && !w.permitted(ctx, to, m):
		says(m, criticalv2.MaintenanceRestored, metav1.ConditionUnknown, criticalv2.RestoreNotPermitted)
	case restorable && *w.deployment(ctx, to, m.Spec.Restore).Spec.Replicas == 0:
		says(m, criticalv2.MaintenanceRestored, metav1.ConditionTrue, criticalv2.RestoreNothingTaken)
	case restorable:
		status := m.Status.DeepCopy()
		controllerutil.AddFinalizer(m, criticalv2.FinalizerRestore)
		w.Expect(to.Update(ctx, m)).To(Succeed())
		m.Status, m.Status.Owed = *status, m.Spec.Restore.DeepCopy()
		says(m, criticalv2.MaintenanceRestored, metav1.ConditionFalse, criticalv2.RestoreOwed)
	case m.DeletionTimestamp != nil && m.Status.Owed != nil:
		w.giveBack(ctx, to, m.Status.Owed)
		m.Status.Restored, m.Status.Owed = m.Status.Owed, nil
		says(m, criticalv2.MaintenanceRestored, metav1.ConditionTrue, criticalv2.RestoreDone)
	}
	w.Expect(to.Status().Update(ctx, m)).To(Succeed())
	if m.DeletionTimestamp != nil && controllerutil.RemoveFinalizer(m, criticalv2.FinalizerRestore) {
		w.Expect(to.Update(ctx, m)).To(Succeed())
	}
}

func says(m *criticalv2.Maintenance, condition string, status metav1.ConditionStatus, reason string) {
	meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: condition, Status: status, Reason: reason, Message: "It says so."})
}

func (w *World) deployment(ctx context.Context, to client.Client, of *criticalv2.WorkloadReplicas) *appsv1.Deployment {
	w.t.Helper()
	deployment := &appsv1.Deployment{}
	w.Expect(to.Get(ctx, client.ObjectKey{Namespace: Web.Namespace, Name: of.Name()}, deployment)).To(Succeed())
	return deployment
}

func (w *World) giveBack(ctx context.Context, to client.Client, owed *criticalv2.WorkloadReplicas) {
	w.t.Helper()
	deployment := w.deployment(ctx, to, owed)
	if *deployment.Spec.Replicas == 0 {
		deployment.Spec.Replicas = new(owed.Replicas)
		w.Expect(to.Update(ctx, deployment)).To(Succeed())
	}
}

// permitted reports whether a Role lets the operator restore a Maintenance.
func (w *World) permitted(ctx context.Context, to client.Client, m *criticalv2.Maintenance) bool {
	w.t.Helper()
	var bindings rbacv1.RoleBindingList
	w.Expect(to.List(ctx, &bindings, client.InNamespace(m.Namespace))).To(Succeed())
	return slices.ContainsFunc(bindings.Items, func(binding rbacv1.RoleBinding) bool {
		role := &rbacv1.Role{}
		return to.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: binding.RoleRef.Name}, role) == nil &&
			slices.ContainsFunc(role.Rules, func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.Verbs, criticalv2.VerbRestore) && slices.Contains(rule.ResourceNames, criticalv2.RestoreName(m.Name, m.Spec.Restore))
			})
	})
}
