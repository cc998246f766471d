package criticalservice

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// settle is how long the status controller lets changes gather, so that a burst
// makes one status write and not one each.
const settle = 250 * time.Millisecond

// outagePriority puts Services that may just have lost their last endpoint
// before all other work; the queue's default is 0.
const outagePriority = 10

func request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// eachState calls f with every state of an object that an event shows: an update
// shows two, because what the old one concerned must be looked at as well.
func eachState(f func(ctx context.Context, object client.Object, q queue)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { f(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			f(ctx, e.ObjectOld, q)
			f(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { f(ctx, e.Object, q) },
	}
}

// serviceOfSliceEvent wakes the Service of an EndpointSlice, at once where the
// slice has no ready endpoint.
func serviceOfSliceEvent(_ context.Context, object client.Object, q queue) {
	slice, isSlice := object.(*discoveryv1.EndpointSlice)
	names := serviceOfSlice(object)
	if !isSlice || len(names) == 0 {
		return
	}
	priority := outagePriority
	for _, endpoint := range slice.Endpoints {
		if ptr.Deref(endpoint.Conditions.Ready, true) {
			priority = 0
		}
	}
	add(q, request(slice.Namespace, names[0]), priority)
}

func add(q queue, req reconcile.Request, priority int) {
	if prioritised, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		prioritised.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
		return
	}
	q.Add(req)
}

// serviceOfFallback wakes the Service that a fallback Pod stands in for.
func serviceOfFallback(_ context.Context, object client.Object, q queue) {
	if name := object.GetLabels()[criticalv1.LabelFallbackFor]; name != "" {
		q.Add(request(object.GetNamespace(), name))
	}
}

// servicesOfPolicy wakes every Service that a CriticalService matches.
func servicesOfPolicy(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		policy, isPolicy := object.(*criticalv1.CriticalService)
		if !isPolicy {
			return
		}
		// A CriticalService that is ending matches nothing, and what it did
		// match must be looked at.
		policy = policy.DeepCopy()
		policy.DeletionTimestamp = nil
		eachService(ctx, reader, policy.Spec.Namespace, func(service *corev1.Service) {
			if decide.Matches(policy, service) {
				q.Add(request(service.Namespace, service.Name))
			}
		})
	}
}

// everyMatchedService wakes every Service that any CriticalService matches: the
// PodTemplate concerns them all.
func everyMatchedService(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, _ client.Object, q queue) {
		policies := policiesIn(ctx, reader)
		eachService(ctx, reader, "", func(service *corev1.Service) {
			for i := range policies {
				if decide.Matches(&policies[i], service) {
					q.Add(request(service.Namespace, service.Name))
					return
				}
			}
		})
	}
}

// policiesOfService wakes the status of every CriticalService that matches a
// Service, by the labels it has or had.
func policiesOfService(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		service, isService := object.(*corev1.Service)
		if !isService {
			return
		}
		policies := policiesIn(ctx, reader)
		for i := range policies {
			if decide.Matches(&policies[i], service) {
				q.AddAfter(request("", policies[i].Name), settle)
			}
		}
	}
}

// statusOfPolicy wakes the status of a CriticalService that the service
// controller has spoken of.
func statusOfPolicy() handler.TypedEventHandler[*criticalv1.CriticalService, reconcile.Request] {
	return handler.TypedFuncs[*criticalv1.CriticalService, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[*criticalv1.CriticalService], q queue) {
			q.AddAfter(request("", e.Object.Name), settle)
		},
	}
}

// Lists in event handlers read the cache, which fails only while the operator
// stops or has not started; every object is looked at again at the next start.

func eachService(ctx context.Context, reader client.Reader, namespace string, f func(*corev1.Service)) {
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range services.Items {
		f(&services.Items[i])
	}
}

func policiesIn(ctx context.Context, reader client.Reader) []criticalv1.CriticalService {
	var policies criticalv1.CriticalServiceList
	if err := reader.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	return policies.Items
}

// specChanged lets pass what changes which Services are critical. A status that
// we wrote ourselves wakes nobody.
var specChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	},
}

// labelsChanged lets pass what changes which CriticalServices match a Service.
// All else about the Service reaches the status through the service controller.
var labelsChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
	},
}
