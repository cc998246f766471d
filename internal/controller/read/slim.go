package read

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Namespaces are those that a cache watches; none is all.
func Namespaces(names []string) map[string]cache.Config {
	watched := make(map[string]cache.Config, len(names))
	for _, name := range names {
		watched[name] = cache.Config{}
	}
	return watched
}

// Meta is what a cache keeps of the metadata of every object: nothing of it is written by
// users without bounds.
func Meta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion, Generation: meta.Generation,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
	}
}

// Only are the given keys of labels, annotations or data, so far as there are such: what
// a cache keeps of an object that others write.
func Only(all map[string]string, keys ...string) map[string]string {
	kept := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, found := all[key]; found {
			kept[key] = value
		}
	}
	return kept
}

// maxValue is more bytes than an annotation of the operator has, or the name of an object.
const maxValue = 256

// OnlyShort is Only of annotations, of which the API server bounds the sum alone: a value is
// cut that is longer than the operator writes any.
func OnlyShort(all map[string]string, keys ...string) map[string]string {
	kept := Only(all, keys...)
	for key, value := range kept {
		kept[key] = Short(value, maxValue)
	}
	return kept
}

// Short is the beginning of a text, of at most some bytes. It is a copy, because a part of a
// text keeps all of it in memory.
func Short(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:most]), "")
}

// maxOwners and maxFinalizers are more than an object has that is not made to be large.
const maxOwners, maxFinalizers = 8, 8

// Owners are the owners of an object: some, and its controller. The API server bounds neither
// their number nor their names. One whose UID is too long is no object's.
func Owners(meta *metav1.ObjectMeta) []metav1.OwnerReference {
	var others []metav1.OwnerReference
	for i := range meta.OwnerReferences {
		if owner := &meta.OwnerReferences[i]; len(others) < maxOwners && (owner.Controller == nil || !*owner.Controller) {
			others = append(others, shortOwner(owner))
		}
	}
	return append(others, Controller(meta)...)
}

// Controller is the owner that controls an object, as a list; none if nothing does.
func Controller(meta *metav1.ObjectMeta) []metav1.OwnerReference {
	controller := metav1.GetControllerOfNoCopy(meta)
	if controller == nil {
		return nil
	}
	return []metav1.OwnerReference{shortOwner(controller)}
}

func shortOwner(owner *metav1.OwnerReference) metav1.OwnerReference {
	kept := *owner
	kept.APIVersion, kept.Kind, kept.Name = Short(kept.APIVersion, maxValue), Short(kept.Kind, maxValue), Short(kept.Name, maxValue)
	kept.UID = types.UID(Short(string(kept.UID), maxValue))
	return kept
}

// Finalizers are some of those of an object: enough to know that there are any, and to name
// them.
func Finalizers(meta *metav1.ObjectMeta) []string {
	var kept []string
	for _, finalizer := range meta.Finalizers[:min(len(meta.Finalizers), maxFinalizers)] {
		kept = append(kept, Short(finalizer, maxValue))
	}
	return kept
}
