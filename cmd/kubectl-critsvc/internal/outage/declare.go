package outage

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// ErrNotPermitted says that the user may not permit the operator to end the outage.
var ErrNotPermitted = errors.New("the operator cannot be permitted to end it")

// Declare records a maintenance, and permits the operator to end it, if it has an end. What was done before an error is undone.
func Declare(ctx context.Context, to client.Client, namespace string, m *criticalv2.Maintenance, operator Operator) (*corev1.ConfigMap, error) {
	config, err := Record(ctx, to, namespace, m)
	if err != nil {
		return nil, err
	}
	if err := Permit(ctx, to, config, m, operator); err != nil {
		return nil, errors.Join(err, Forget(context.WithoutCancel(ctx), to, config))
	}
	return config, nil
}

// Record records a maintenance in a ConfigMap of its own. It permits nothing.
func Record(ctx context.Context, to client.Client, namespace string, m *criticalv2.Maintenance) (*corev1.ConfigMap, error) {
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: criticalv2.MaintenanceName(m.Service),
			Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance},
		},
		Data: m.Data(),
	}
	err := to.Create(ctx, config, fieldOwner)
	switch {
	case apierrors.IsAlreadyExists(err):
		return nil, fmt.Errorf("ConfigMap %q exists: a maintenance or a drill of the Service is under way; "+
			"`kubectl critsvc maintenance off svc/%s -n %s` ends it", config.Name, m.Service, namespace)
	case err != nil:
		return nil, fmt.Errorf("create ConfigMap %q: %w", config.Name, err)
	}
	return config, nil
}

// Permit lets the operator end a maintenance that has an end: scale exactly that
// workload, and change and delete exactly that ConfigMap. It may do so only as long as
// the ConfigMap exists, with which the garbage collector takes the permission away.
func Permit(ctx context.Context, to client.Client, config *corev1.ConfigMap, m *criticalv2.Maintenance, operator Operator) error {
	if m.Until == nil {
		return nil
	}
	about := metav1.ObjectMeta{
		Namespace: config.Namespace, Name: config.Name,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: config.Name, UID: config.UID}},
	}
	role := &rbacv1.Role{ObjectMeta: about, Rules: rulesFor(config, m)}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: about,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects: []rbacv1.Subject{{
			Kind: rbacv1.ServiceAccountKind, Namespace: operator.ServiceAccount.Namespace, Name: operator.ServiceAccount.Name,
		}},
	}
	for _, object := range []client.Object{role, binding} {
		if err := put(ctx, to, object); err != nil {
			return notPermitted(err, m)
		}
	}
	return nil
}

func rulesFor(config *corev1.ConfigMap, m *criticalv2.Maintenance) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{config.Name}, Verbs: []string{"patch", "delete"},
	}}
	if w := m.Workload; w != nil {
		rules = append(rules, rbacv1.PolicyRule{
			APIGroups: []string{w.Resource.Group}, Resources: []string{w.Resource.Resource + "/scale"},
			ResourceNames: []string{w.Name}, Verbs: []string{"get", "patch"},
		})
	}
	return rules
}

// put makes an object as it must be. One of an earlier maintenance, which the garbage
// collector has not come to yet, is replaced.
func put(ctx context.Context, to client.Client, object client.Object) error {
	err := to.Create(ctx, object.DeepCopyObject().(client.Object), fieldOwner)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	return to.Update(ctx, object, fieldOwner)
}

// notPermitted explains why the API server refuses a permission: users cannot grant
// what they do not have themselves.
func notPermitted(err error, m *criticalv2.Maintenance) error {
	if !apierrors.IsForbidden(err) {
		return fmt.Errorf("permit the operator to end the maintenance: %w", err)
	}
	needs := "patch and delete on the ConfigMap"
	if m.Workload != nil {
		needs += fmt.Sprintf(", and get and patch on %s/scale", m.Workload.Resource)
	}
	return fmt.Errorf("%w: for that you must be allowed to create Roles and RoleBindings in this namespace, and to do yourself what the operator is to do (%s). "+
		"The ClusterRole \"admin\" allows all of it. Either ask a user who has it, or leave the end out (--until) and end it yourself (%s)",
		ErrNotPermitted, needs, err.Error())
}
