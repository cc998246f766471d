package responder

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/protection"
)

const (
	// burst is how long changes gather, so that many new Services make one new table
	// and not one each. It is not on the way of any failover.
	burst = 100 * time.Millisecond
	// publication is how long the slices of a Pod gather: there is one for each Service.
	publication = 250 * time.Millisecond
	// wokenAtOnce is how many waiting namespaces are woken when another has come up. The
	// rest are woken by those, or recheck.
	wokenAtOnce = 20
)

// namespaceOf wakes the namespace of an object, a moment after the first change.
func namespaceOf() handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue.Requests) { wake(e.Object, q, burst) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue.Requests) { wake(e.ObjectNew, q, burst) },
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue.Requests) { wake(e.Object, q, burst) },
	}
}

// rollouts wakes the namespace of a Deployment and, once that is no longer under way
// with a version, some of those that wait for it.
func (r *Reconciler) rollouts() handler.EventHandler {
	others := func(q queue.Requests) {
		waiting := r.waiting.Keys()
		for _, namespace := range waiting[:min(len(waiting), wokenAtOnce)] {
			q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: namespace}}, burst)
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue.Requests) { wake(e.Object, q, burst) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue.Requests) {
			wake(e.ObjectNew, q, burst)
			if before, after := progress(e.ObjectOld), progress(e.ObjectNew); before == decide.Underway && after != before {
				others(q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue.Requests) {
			wake(e.Object, q, burst)
			others(q)
		},
	}
}

func progress(object client.Object) decide.Progress {
	if deployment, isDeployment := object.(*appsv1.Deployment); isDeployment {
		return decide.ProgressOf(deployment, time.Now())
	}
	return ""
}

func wake(object client.Object, q queue.Requests, after time.Duration) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: object.GetNamespace()}}, after)
}

// publications wakes the namespace of a slice that publishes one Pod. Its numbers are
// those of the table, which matters only when it stops to publish one; that it
// publishes the Pod matters only while a readiness gate waits for it.
func (o *observer) publications() handler.EventHandler {
	wakeForGate := func(ctx context.Context, slice client.Object, q queue.Requests) {
		pods, err := o.pods(ctx, slice.GetNamespace())
		if err != nil {
			wake(slice, q, publication)
			return
		}
		for i := range pods {
			if decide.WaitsForGate(&pods[i]) {
				wake(slice, q, publication)
				return
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue.Requests) { wakeForGate(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue.Requests) {
			if numbersChanged(e.ObjectOld, e.ObjectNew) {
				wake(e.ObjectNew, q, publication)
			} else {
				wakeForGate(ctx, e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue.Requests) { wake(e.Object, q, publication) },
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
		return protection.IsOfPage(object) && protection.StandsFor(object) == ""
	},
	func(before, after client.Object) bool {
		old, now := before.GetAnnotations(), after.GetAnnotations()
		return numbersChanged(before, after) || endsNow(before, after) ||
			old[criticalv2.AnnotationPage] != now[criticalv2.AnnotationPage] ||
			old[criticalv2.AnnotationMaintenance] != now[criticalv2.AnnotationMaintenance] ||
			!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
	},
)

// publicationChanged lets pass standby slices that publish one Pod of the responder.
// A promotion changes only their conditions.
var publicationChanged = either(
	func(object client.Object) bool {
		return protection.IsOfPage(object) && protection.StandsFor(object) != ""
	},
	func(before, after client.Object) bool {
		return numbersChanged(before, after) || endsNow(before, after) || !slices.EqualFunc(endpoints(before), endpoints(after), samePod)
	},
)

// numbersChanged reports whether a slice publishes other numbers, or for another Service.
func numbersChanged(before, after client.Object) bool {
	old, isSlice := before.(*discoveryv1.EndpointSlice)
	now, stillIs := after.(*discoveryv1.EndpointSlice)
	return !isSlice || !stillIs || !equality.Semantic.DeepEqual(old.Ports, now.Ports) ||
		old.Labels[discoveryv1.LabelServiceName] != now.Labels[discoveryv1.LabelServiceName]
}

// endsNow reports whether a slice has begun to end: a finalizer may keep it from then
// on, but no readiness gate waits for it.
func endsNow(before, after client.Object) bool {
	return before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil
}

func endpoints(object client.Object) []discoveryv1.Endpoint {
	if slice, isSlice := object.(*discoveryv1.EndpointSlice); isSlice {
		return slice.Endpoints
	}
	return nil
}

func samePod(a, b discoveryv1.Endpoint) bool {
	return equality.Semantic.DeepEqual(a.TargetRef, b.TargetRef) && slices.Equal(a.Addresses, b.Addresses)
}

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

// autoscalerChanged lets pass, besides, what a user changed in an autoscaler: old versions of Kubernetes count no generation
// of it. Its status, which changes all the time, wakes no namespace.
var autoscalerChanged = predicate.Or(specChanged, either(always, func(before, after client.Object) bool {
	old, isAutoscaler := before.(*autoscalingv2.HorizontalPodAutoscaler)
	now, stillIs := after.(*autoscalingv2.HorizontalPodAutoscaler)
	return isAutoscaler && stillIs && !equality.Semantic.DeepEqual(old.Spec, now.Spec)
}))

// deploymentChanged lets pass, besides, what the status says of a rollout, and of Pods
// that are denied.
var deploymentChanged = predicate.Or(specChanged, either(always, func(before, after client.Object) bool {
	return progress(before) != progress(after) || denied(before) != denied(after)
}))

func denied(object client.Object) bool {
	deployment, isDeployment := object.(*appsv1.Deployment)
	return isDeployment && decide.IsDenied(deployment)
}

// isResponder lets pass Pods of the responder.
var isResponder = predicate.NewPredicateFuncs(func(object client.Object) bool {
	return object.GetLabels()[criticalv2.LabelResponder] == criticalv2.ResponderServer
})

// podChanged lets pass Pods that are new or gone, whose mounts may be old, or whose
// readiness gate may open.
var podChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		old, isPod := e.ObjectOld.(*corev1.Pod)
		now, stillIs := e.ObjectNew.(*corev1.Pod)
		return !isPod || !stillIs || old.UID != now.UID ||
			old.Annotations[criticalv2.AnnotationContentVersion] != now.Annotations[criticalv2.AnnotationContentVersion] ||
			decide.WaitsForGate(now) && (!decide.WaitsForGate(old) || !slices.Equal(old.Status.PodIPs, now.Status.PodIPs))
	},
}
