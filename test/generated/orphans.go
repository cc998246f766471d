package generated

import (
	"github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// orphans does what the garbage collector of Kubernetes does, and names what is left of objects that are gone, and is not
// to outlive them.
func (r *Run) orphans() []string {
	r.T.Helper()
	var left []metav1.PartialObjectMetadata
	for again := true; again; {
		left, again = r.made(), false
		live := map[types.UID]bool{}
		for i := range left {
			live[left[i].UID] = true
		}
		for i := range left {
			if isGarbage(&left[i], live) {
				again = true
				r.remove(&left[i])
			}
		}
	}
	var names []string
	for i := range left {
		if r.Outlives(&left[i]) {
			r.remove(&left[i])
		} else {
			names = append(names, left[i].Kind+" "+left[i].Name)
		}
	}
	return names
}

// made is all that the operator has made in the world.
func (r *Run) made() (all []metav1.PartialObjectMetadata) {
	r.T.Helper()
	for _, kind := range r.Made {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		r.Expect(r.Cluster.Client.List(r.T.Context(), list, client.InNamespace(r.Namespace))).To(gomega.Succeed())
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
		}
		all = append(all, list.Items...)
	}
	return all
}

// isGarbage reports whether an object has owners and none of them is there.
func isGarbage(object *metav1.PartialObjectMetadata, live map[types.UID]bool) bool {
	for i := range object.OwnerReferences {
		if live[object.OwnerReferences[i].UID] {
			return false
		}
	}
	return len(object.OwnerReferences) > 0
}

// remove deletes an object at once; no controller here waits for what holds it.
func (r *Run) remove(object *metav1.PartialObjectMetadata) {
	r.T.Helper()
	if len(object.Finalizers) > 0 {
		object.Finalizers = nil
		r.Expect(client.IgnoreNotFound(r.Cluster.Client.Patch(r.T.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(gomega.Succeed())
	}
	r.Expect(client.IgnoreNotFound(r.Cluster.Client.Delete(r.T.Context(), object, client.GracePeriodSeconds(0)))).To(gomega.Succeed())
}
