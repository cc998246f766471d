package responder

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// burst is how long changes gather, so that many new Services make one new table
// and not one each. It is not on the way of any failover.
const burst = 100 * time.Millisecond

// namespaceOf wakes the namespace of an object, a moment after the first change.
func namespaceOf() handler.EventHandler {
	wake := func(object client.Object, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: object.GetNamespace()}}, burst)
	}
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { wake(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) { wake(e.ObjectNew, q) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { wake(e.Object, q) },
	}
}

// either lets pass a change of which one of the two states is meant by is, and
// which is a change of what concerns this kind.
func either(is func(client.Object) bool, changed func(before, after client.Object) bool) predicate.Funcs {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return is(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return is(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := is(e.ObjectOld), is(e.ObjectNew)
			return before != after || after && changed(e.ObjectOld, e.ObjectNew)
		},
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func always(client.Object) bool { return true }

// askingChanged lets pass standby slices that ask for a page. Their endpoints do
// not matter here: promotions and Pods that come and go wake no namespace.
var askingChanged = either(
	func(object client.Object) bool {
		labels := object.GetLabels()
		for key, value := range pageSlices {
			if labels[key] != value {
				return false
			}
		}
		return true
	},
	func(before, after client.Object) bool {
		old, isSlice := before.(*discoveryv1.EndpointSlice)
		now, stillIs := after.(*discoveryv1.EndpointSlice)
		return !isSlice || !stillIs ||
			!equality.Semantic.DeepEqual(old.Ports, now.Ports) ||
			old.Annotations[criticalv2.AnnotationPage] != now.Annotations[criticalv2.AnnotationPage] ||
			old.Annotations[criticalv2.AnnotationMaintenance] != now.Annotations[criticalv2.AnnotationMaintenance] ||
			old.Labels[discoveryv1.LabelServiceName] != now.Labels[discoveryv1.LabelServiceName] ||
			!equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences)
	},
)

// portsChanged lets pass what changes the listeners of a Service.
var portsChanged = either(always, func(before, after client.Object) bool {
	old, isService := before.(*corev1.Service)
	now, stillIs := after.(*corev1.Service)
	return !isService || !stillIs || !equality.Semantic.DeepEqual(old.Spec.Ports, now.Spec.Ports)
})

// specChanged lets pass what a user changed in an object of ours. A change of its
// status wakes no namespace.
var specChanged = either(always, func(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration() || before.GetUID() != after.GetUID() ||
		!equality.Semantic.DeepEqual(before.GetLabels(), after.GetLabels()) ||
		!equality.Semantic.DeepEqual(before.GetAnnotations(), after.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
})

// isResponder lets pass Pods of the responder.
var isResponder = predicate.NewPredicateFuncs(func(object client.Object) bool {
	return object.GetLabels()[criticalv2.LabelResponder] == criticalv2.ResponderServer
})

// mountsMayBeOld lets pass new Pods, and those whose annotation was changed.
var mountsMayBeOld = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetAnnotations()[criticalv2.AnnotationContentVersion] !=
				e.ObjectNew.GetAnnotations()[criticalv2.AnnotationContentVersion]
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}
