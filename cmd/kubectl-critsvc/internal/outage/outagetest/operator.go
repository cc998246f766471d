package outagetest

import (
	"context"
	"math"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	case restorable && w.replicasOf(w.workload(ctx, to, m.Spec.Restore)) == 0:
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

func (w *World) workload(ctx context.Context, from client.Client, of *criticalv2.WorkloadReplicas) *unstructured.Unstructured {
	w.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if of.StatefulSet != "" {
		object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	}
	w.Expect(from.Get(ctx, client.ObjectKey{Namespace: Web.Namespace, Name: of.Name()}, object)).To(Succeed())
	return object
}

func (w *World) replicasOf(workload *unstructured.Unstructured) int32 {
	w.t.Helper()
	replicas, _, err := unstructured.NestedInt64(workload.Object, "spec", "replicas")
	w.Expect(err).NotTo(HaveOccurred())
	return int32(min(max(replicas, 0), math.MaxInt32))
}

func (w *World) set(ctx context.Context, to client.Client, workload *unstructured.Unstructured, replicas int32) {
	w.t.Helper()
	w.Expect(unstructured.SetNestedField(workload.Object, int64(replicas), "spec", "replicas")).To(Succeed())
	w.Expect(to.Update(ctx, workload)).To(Succeed())
}

func (w *World) giveBack(ctx context.Context, to client.Client, owed *criticalv2.WorkloadReplicas) {
	w.t.Helper()
	if workload := w.workload(ctx, to, owed); w.replicasOf(workload) == 0 {
		w.set(ctx, to, workload, owed.Replicas)
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
