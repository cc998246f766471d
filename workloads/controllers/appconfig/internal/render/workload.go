package render

import (
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Workload names a Deployment or a StatefulSet, and the container that takes the settings.
type Workload struct {
	// Kind is Deployment or StatefulSet.
	Kind            string
	Namespace, Name string
	UID             types.UID
	Container       string
}

// Taking is all that the operator applies to a workload: that one container takes the
// variables of a ConfigMap. The UID keeps it from making a workload that has gone.
func (w *Workload) Taking(configMap string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{
				"name":    w.Container,
				"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": configMap}}},
			},
		}}}},
	}}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
	object.SetNamespace(w.Namespace)
	object.SetName(w.Name)
	object.SetUID(w.UID)
	return object
}

func (w *Workload) owner() metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: w.Kind, Name: w.Name, UID: w.UID}
}

// Reference names a workload in events.
func (w *Workload) Reference() *metav1.PartialObjectMetadata {
	reference := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: w.Name, UID: w.UID}}
	reference.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(w.Kind))
	return reference
}
