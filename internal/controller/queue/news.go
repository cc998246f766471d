package queue

import (
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

// News admits updates of the object that a controller is about: of all that the cache keeps of
// it, but its version and what wordless takes away from a copy, that is the text of its status.
//
// A status is news to the controller that wrote it, too. Until the cache has that write, each
// decision starts from the status before. If it comes to just that one, nothing is written,
// and the status would stay wrong. Where it is right, one decision more changes nothing.
//
// Text is no news: a refusal that never reads the same would be tried again without a rest.
func News[T client.Object](wordless func(T)) predicate.Predicate {
	essence := func(object T) client.Object {
		kept := object.DeepCopyObject().(T)
		kept.SetResourceVersion("")
		kept.SetManagedFields(nil)
		wordless(kept)
		return kept
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isOne := e.ObjectOld.(T)
		now, isToo := e.ObjectNew.(T)
		return !isOne || !isToo || !equality.Semantic.DeepEqual(essence(before), essence(now))
	}}
}

// Wordless takes the messages, and the times at which they were written, from conditions.
func Wordless(conditions []metav1.Condition) {
	for i := range conditions {
		conditions[i].Message, conditions[i].LastTransitionTime = "", metav1.Time{}
	}
}
