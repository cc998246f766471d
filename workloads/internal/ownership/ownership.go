// Package ownership says whose an object is that has a name which a workload needs. It is
// pure.
package ownership

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// Owner is a workload as the owner of what is made for it.
type Owner struct {
	// Reference is on what lives and dies with the workload, as its controller.
	Reference metav1.OwnerReference
	// Labels are the keys of which one names the workload on all that is made for it.
	Labels []string
}

// Owns reports whether the workload controls an object.
func (o *Owner) Owns(object metav1.Object) bool {
	controller := metav1.GetControllerOfNoCopy(object)
	return controller != nil && controller.UID == o.Reference.UID
}

// IsOurs reports whether an object is the workload's: it belongs to it; or it belongs to none
// and says that it is, as what outlives a workload does, and what was orphaned. That is taken
// back.
func (o *Owner) IsOurs(object metav1.Object) bool {
	if metav1.GetControllerOfNoCopy(object) != nil {
		return o.Owns(object)
	}
	labels := object.GetLabels()
	return labels[workloadsv1.LabelManagedBy] == workloadsv1.ManagedBy &&
		slices.ContainsFunc(o.Labels, func(key string) bool { return labels[key] == o.Reference.Name })
}

// IsEarlier reports whether an object belongs to an earlier workload of the kind and name: the
// garbage collector is about to delete it, or to take that owner off. Not every owner is a
// controller.
func (o *Owner) IsEarlier(object metav1.Object) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return owner.UID != o.Reference.UID && owner.Name == o.Reference.Name && kindOf(owner) == kindOf(o.Reference)
	})
}

// kindOf is the kind that a reference names, in whichever version.
func kindOf(owner metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
}
