// Package render makes the objects of an ETCDInstance as they are to be. It is pure.
package render

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/internal/ownership"
)

// IsOurs reports whether an object of a name that the ETCDInstance needs is its own.
func IsOurs(e *workloadsv1alpha1.ETCDInstance, object metav1.Object) bool {
	return Owner(e).IsOurs(object)
}

// IsEarlier reports whether an object belongs to an earlier ETCDInstance of the name.
func IsEarlier(e *workloadsv1alpha1.ETCDInstance, object metav1.Object) bool {
	return Owner(e).IsEarlier(object)
}

// Owner is the ETCDInstance as the owner of its objects.
func Owner(e *workloadsv1alpha1.ETCDInstance) *ownership.Owner {
	return &ownership.Owner{Reference: Controller(e), Labels: []string{workloadsv1alpha1.LabelETCDInstance}}
}

// NameOf is the name of the ETCDInstance that an object says it is of; empty if it says none.
func NameOf(object metav1.Object) string {
	return object.GetLabels()[workloadsv1alpha1.LabelETCDInstance]
}

// LabelComponent says what a Pod of an ETCDInstance is for.
const (
	LabelComponent  = "app.kubernetes.io/component"
	componentMember = "member"
)

// Labels are on every object of the ETCDInstance.
func Labels(e *workloadsv1alpha1.ETCDInstance) map[string]string {
	return map[string]string{workloadsv1alpha1.LabelETCDInstance: e.Name, workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}
}

// Selector selects the Pods of the members.
func Selector(e *workloadsv1alpha1.ETCDInstance) map[string]string {
	return map[string]string{workloadsv1alpha1.LabelETCDInstance: e.Name, LabelComponent: componentMember}
}

func memberLabels(e *workloadsv1alpha1.ETCDInstance) map[string]string {
	labels := Labels(e)
	labels[LabelComponent] = componentMember
	return labels
}

// Controller is the reference of what lives and dies with the ETCDInstance. It does not block
// the deletion: that would take one more permission where a cluster checks who sets owners.
func Controller(e *workloadsv1alpha1.ETCDInstance) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: workloadsv1alpha1.GroupVersion.String(), Kind: workloadsv1alpha1.ETCDInstanceKind.Kind, Name: e.Name, UID: e.UID, Controller: new(true),
	}
}

func meta(e *workloadsv1alpha1.ETCDInstance, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: e.Namespace, Name: name, Labels: Labels(e), OwnerReferences: []metav1.OwnerReference{Controller(e)}}
}
