package criticalservice

import (
	"context"
	"time"

	"github.com/critical-service/operator/internal/protection"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
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
// slice has no ready endpoint, and the Services that it is the backup of.
func serviceOfSliceEvent(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		slice, isSlice := object.(*discoveryv1.EndpointSlice)
		names := serviceOfSlice(object)
		if !isSlice || len(names) == 0 {
			return
		}
		priority := 0
		if !protection.IsStandby(slice) && !protection.IsPromoted(slice) {
			priority = outagePriority
		}
		add(q, request(slice.Namespace, names[0]), priority)
		servicesOfBackup(ctx, reader, slice.Namespace, names[0], q)
	}
}

// servicesOfBackup wakes the Services whose standby slices publish a backup, and
// those that want it while a former one is still published.
func servicesOfBackup(ctx context.Context, reader client.Reader, namespace, backup string, q queue) {
	eachStandby(ctx, reader, namespace, client.MatchingFields{indexBackupOfSlice: backup}, func(slice *discoveryv1.EndpointSlice) {
		q.Add(request(namespace, serviceOfSlice(slice)[0]))
	})
	for _, policy := range policiesIn(ctx, reader) {
		if policy.Spec.Fallback.Service == nil || policy.Spec.Fallback.Service.Name != backup {
			continue
		}
		labels := namespaceLabels(ctx, reader, namespace)
		eachService(ctx, reader, namespace, func(service *corev1.Service) {
			if protection.Matches(&policy, service, labels) {
				q.Add(request(namespace, service.Name))
			}
		})
	}
}

// backupChanged wakes the Services that a Service is the backup of.
func backupChanged(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		servicesOfBackup(ctx, reader, object.GetNamespace(), object.GetName(), q)
	}
}

func add(q queue, req reconcile.Request, priority int) {
	if prioritised, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		prioritised.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, req)
		return
	}
	q.Add(req)
}

// serviceOfFallback wakes the Service that a fallback Pod stands in for; a Pod of
// the responder stands in for all that have a page.
func serviceOfFallback(reader client.Reader) func(context.Context, client.Object, queue) {
	pages := servicesWithPage(reader)
	return func(ctx context.Context, object client.Object, q queue) {
		if name := object.GetLabels()[criticalv2.LabelFallbackFor]; name != "" {
			q.Add(request(object.GetNamespace(), name))
		} else {
			pages(ctx, object, q)
		}
	}
}

// servicesWithPage wakes every Service of a namespace that has a standby slice of
// a page: something about the responder, or about content, has changed.
func servicesWithPage(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		eachStandby(ctx, reader, object.GetNamespace(), client.MatchingLabels{
			discoveryv1.LabelManagedBy: criticalv2.ManagedBy, criticalv2.LabelFallbackKind: criticalv2.FallbackKindPage,
		}, func(slice *discoveryv1.EndpointSlice) {
			q.Add(request(slice.Namespace, serviceOfSlice(slice)[0]))
		})
	}
}

// serviceOfConfigMap wakes the Service that a maintenance is about; all else that
// is watched of ConfigMaps concerns every page of the namespace.
func serviceOfConfigMap(reader client.Reader) func(context.Context, client.Object, queue) {
	pages := servicesWithPage(reader)
	return func(ctx context.Context, object client.Object, q queue) {
		config, isConfigMap := object.(*corev1.ConfigMap)
		if !isConfigMap || config.Labels[criticalv2.LabelResponder] != criticalv2.ResponderMaintenance {
			pages(ctx, object, q)
		} else if name := config.Data[criticalv2.MaintenanceService]; name != "" {
			q.Add(request(config.Namespace, name))
		}
	}
}

// eachStandby calls f with every standby slice of a namespace that is chosen and
// names its Service.
func eachStandby(ctx context.Context, reader client.Reader, namespace string, chosen client.ListOption, f func(*discoveryv1.EndpointSlice)) {
	var list discoveryv1.EndpointSliceList
	if err := reader.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, chosen); err != nil {
		return
	}
	for i := range list.Items {
		if len(serviceOfSlice(&list.Items[i])) > 0 {
			f(&list.Items[i])
		}
	}
}

// servicesOfNamespace wakes the Services of a namespace whose labels changed.
func servicesOfNamespace(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		eachService(ctx, reader, object.GetName(), func(service *corev1.Service) {
			q.Add(request(service.Namespace, service.Name))
		})
	}
}

// policiesBySelector wakes the status of every CriticalService that chooses
// namespaces by their labels.
func policiesBySelector(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, _ client.Object, q queue) {
		for _, policy := range policiesIn(ctx, reader) {
			if policy.Spec.NamespaceSelector != nil {
				q.AddAfter(request("", policy.Name), settle)
			}
		}
	}
}

// servicesOfPolicy wakes every Service that a CriticalService matches.
func servicesOfPolicy(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, object client.Object, q queue) {
		policy, isPolicy := object.(*criticalv2.CriticalService)
		if !isPolicy {
			return
		}
		// A CriticalService that is ending matches nothing, and what it did
		// match must be looked at.
		policy = policy.DeepCopy()
		policy.DeletionTimestamp = nil
		eachMatched(ctx, reader, policy, func(service *corev1.Service) {
			q.Add(request(service.Namespace, service.Name))
		})
	}
}

// everyMatchedService wakes every Service that any CriticalService matches: the
// PodTemplate concerns them all.
func everyMatchedService(reader client.Reader) func(context.Context, client.Object, queue) {
	return func(ctx context.Context, _ client.Object, q queue) {
		for _, policy := range policiesIn(ctx, reader) {
			eachMatched(ctx, reader, &policy, func(service *corev1.Service) {
				q.Add(request(service.Namespace, service.Name))
			})
		}
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
		policies, labels := policiesIn(ctx, reader), namespaceLabels(ctx, reader, service.Namespace)
		for i := range policies {
			if protection.Matches(&policies[i], service, labels) {
				q.AddAfter(request("", policies[i].Name), settle)
			}
		}
	}
}

// statusOfPolicy wakes the status of a CriticalService that the service
// controller has spoken of.
func statusOfPolicy() handler.TypedEventHandler[*criticalv2.CriticalService, reconcile.Request] {
	return handler.TypedFuncs[*criticalv2.CriticalService, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[*criticalv2.CriticalService], q queue) {
			q.AddAfter(request("", e.Object.Name), settle)
		},
	}
}

// Lists in event handlers read the cache, which fails only while the operator
// stops or has not started; every object is looked at again at the next start.

// eachMatched calls f with every Service that a CriticalService matches.
func eachMatched(ctx context.Context, reader client.Reader, policy *criticalv2.CriticalService, f func(*corev1.Service)) {
	labels := map[string]map[string]string{}
	visit := func(service *corev1.Service) {
		known, found := labels[service.Namespace]
		if !found && policy.Spec.NamespaceSelector != nil {
			known = namespaceLabels(ctx, reader, service.Namespace)
			labels[service.Namespace] = known
		}
		if protection.Matches(policy, service, known) {
			f(service)
		}
	}
	for _, namespace := range policy.Spec.Namespaces {
		eachService(ctx, reader, namespace, visit)
	}
	if len(policy.Spec.Namespaces) == 0 {
		eachService(ctx, reader, "", visit)
	}
}

func namespaceLabels(ctx context.Context, reader client.Reader, name string) map[string]string {
	namespace := &corev1.Namespace{}
	if err := reader.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil
	}
	return namespace.Labels
}

func eachService(ctx context.Context, reader client.Reader, namespace string, f func(*corev1.Service)) {
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for i := range services.Items {
		f(&services.Items[i])
	}
}

func policiesIn(ctx context.Context, reader client.Reader) []criticalv2.CriticalService {
	var policies criticalv2.CriticalServiceList
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
