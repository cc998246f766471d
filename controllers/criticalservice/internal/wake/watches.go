// Package wake knows which event wakes which key.
package wake

import (
	"context"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
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
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// OutagePriority puts Services that may just have lost their last endpoint
// before all other work; the queue's default is 0.
const OutagePriority = 10

// Request is the work key of an object.
func Request(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// EachState calls f with every state of an object that an event shows: an update
// shows two, because what the old one concerned must be looked at as well.
func EachState(f func(ctx context.Context, object client.Object, q queue.Requests)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue.Requests) { f(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue.Requests) {
			f(ctx, e.ObjectOld, q)
			f(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue.Requests) { f(ctx, e.Object, q) },
	}
}

// LastState calls f with the last state of an object that an event shows, where every
// state of it concerns the same.
func LastState(f func(ctx context.Context, object client.Object, q queue.Requests)) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue.Requests) { f(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue.Requests) { f(ctx, e.ObjectNew, q) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue.Requests) { f(ctx, e.Object, q) },
	}
}

// ServiceOfSlice wakes the Service of an EndpointSlice, before all others where the slice
// has no ready endpoint, or is a standby that is promoted, and the Services that it is
// the backup of.
func ServiceOfSlice(reader client.Reader) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		slice, isSlice := object.(*discoveryv1.EndpointSlice)
		names := observe.ServiceOfSlice(object)
		if !isSlice || len(names) == 0 {
			return
		}
		priority := 0
		// A Service that may be down, and at a start one whose standby may have to step back.
		if protection.IsStandby(slice) == protection.IsPromoted(slice) {
			priority = OutagePriority
		}
		queue.Add(q, Request(slice.Namespace, names[0]), priority, 0)
		servicesOfBackup(ctx, reader, slice.Namespace, names[0], q)
	}
}

// servicesOfBackup wakes the Services whose standby slices publish a backup, and
// those that want it while a former one is still published.
func servicesOfBackup(ctx context.Context, reader client.Reader, namespace, backup string, q queue.Requests) {
	observe.EachStandby(ctx, reader, namespace, client.MatchingFields{observe.IndexBackupOfSlice: backup}, func(slice *discoveryv1.EndpointSlice) {
		q.Add(Request(namespace, observe.ServiceOfSlice(slice)[0]))
	})
	wanting := slices.DeleteFunc(observe.Policies(ctx, reader, namespace), func(policy criticalv2.Policy) bool {
		wanted := policy.Protection().Fallback.Service
		return wanted == nil || wanted.Name != backup
	})
	if len(wanting) > 0 {
		observe.EachSelectedIn(ctx, reader, namespace, wanting, func(service *corev1.Service) { q.Add(Request(namespace, service.Name)) })
	}
}

// ServicesOfBackup wakes the Services that a Service is the backup of.
func ServicesOfBackup(reader client.Reader) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		servicesOfBackup(ctx, reader, object.GetNamespace(), object.GetName(), q)
	}
}

// ServiceOfFallback wakes the Service that a fallback Pod stands in for.
func ServiceOfFallback(_ context.Context, object client.Object, q queue.Requests) {
	if name := object.GetLabels()[criticalv2.LabelFallbackFor]; name != "" {
		q.Add(Request(object.GetNamespace(), name))
	}
}

// ServicesWithPage wakes every Service of a namespace that has a standby slice of
// a page: something about the responder, or about content, has changed.
func ServicesWithPage(reader client.Reader) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		for name := range observe.ServicesWithPage(ctx, reader, object.GetNamespace()) {
			q.Add(Request(object.GetNamespace(), name))
		}
	}
}

// Tables wakes in tables the namespace whose responder has another table: what it says is
// read there, because any user may write a large one again and again.
func Tables(tables *queue.Waker) handler.EventHandler {
	return LastState(func(_ context.Context, table client.Object, _ queue.Requests) {
		tables.Wake(types.NamespacedName{Name: table.GetNamespace()})
	})
}

// ServicesOfMaintenance wakes the Services that a Maintenance is about, or was. Any user of
// a namespace may name many that do not exist, which cost nothing.
func ServicesOfMaintenance(reader client.Reader) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		for _, name := range observe.ServicesOfMaintenance(object) {
			request := Request(object.GetNamespace(), name)
			if service, err := read.Existing[corev1.Service](ctx, reader, request.NamespacedName); err == nil && service != nil {
				q.Add(request)
			}
		}
	}
}

// ServicesOfNamespace wakes the Services of a namespace whose labels changed.
func ServicesOfNamespace(reader client.Reader) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		observe.EachService(ctx, reader, object.GetName(), func(service *corev1.Service) {
			q.Add(Request(service.Namespace, service.Name))
		})
	}
}

// ServicesOfPolicy wakes every Service that a policy selects: what one that is ending did
// match must be looked at as well. Where its selector is not valid, it wakes those that keep a
// fallback of it: nothing else shows that it is known again whether they are meant.
func ServicesOfPolicy(reader client.Reader) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		policy, isPolicy := object.(criticalv2.Policy)
		if !isPolicy {
			return
		}
		if policy.SelectorProblem() != nil {
			observe.EachWithFallbackOf(ctx, reader, policy, func(service types.NamespacedName) {
				q.Add(reconcile.Request{NamespacedName: service})
			})
			return
		}
		observe.EachSelected(ctx, reader, policy, func(service *corev1.Service) {
			q.Add(Request(service.Namespace, service.Name))
		})
	}
}

// ServicesOfFallback wakes the Services that a ServiceFallback selects, and those of the ones
// that count, or do so no more, because of it. Where the operator starts
// every Service is woken anyway.
func ServicesOfFallback(reader client.Reader) handler.EventHandler {
	selected := ServicesOfPolicy(reader)
	each := EachState(func(ctx context.Context, object client.Object, q queue.Requests) {
		selected(ctx, object, q)
		observe.EachMisplaced(ctx, reader, object.GetNamespace(), func(policy criticalv2.Policy) { selected(ctx, policy, q) })
	}).(handler.Funcs)
	create := each.CreateFunc
	each.CreateFunc = func(ctx context.Context, e event.CreateEvent, q queue.Requests) {
		if !e.IsInInitialList {
			create(ctx, e, q)
		}
	}
	return each
}

// ServicesOfTemplate wakes the Services whose decision may rest on a PodTemplate.
func ServicesOfTemplate(reader client.Reader, templates protection.Templates) func(context.Context, client.Object, queue.Requests) {
	return func(ctx context.Context, object client.Object, q queue.Requests) {
		observe.EachUserOfTemplate(ctx, reader, templates, client.ObjectKeyFromObject(object), func(service *corev1.Service) {
			q.Add(Request(service.Namespace, service.Name))
		})
	}
}

// ComesOrGoes lets pass that something exists now, or does not any more. An object that
// took the place of another, which no one saw go, comes as well.
var ComesOrGoes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() },
}

// SpecChanged lets pass what changes which Services are critical. A status that
// was written is none of it.
var SpecChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
			e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			(e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
	},
}

// AnnouncementChanged lets pass what changes whether a Maintenance is announced, and what it
// says: its spec, and the window in its status.
var AnnouncementChanged = predicate.Or(SpecChanged, predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, isMaintenance := e.ObjectOld.(*criticalv2.Maintenance)
		now, isToo := e.ObjectNew.(*criticalv2.Maintenance)
		return isMaintenance && isToo && (!before.Status.Since.Equal(now.Status.Since) ||
			!before.Status.Until.Equal(now.Status.Until) || (before.Status.Ended == nil) != (now.Status.Ended == nil))
	},
})

// OfResponder lets pass those changes of the responder's Pods that decide whether they are
// published: each concerns every Service with a page.
var OfResponder = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return isOfResponder(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := isOfResponder(e.ObjectOld), isOfResponder(e.ObjectNew)
		return before != after || after && podChanged(e.ObjectOld, e.ObjectNew)
	},
	DeleteFunc:  func(e event.DeleteEvent) bool { return isOfResponder(e.Object) },
	GenericFunc: func(event.GenericEvent) bool { return false },
}

func isOfResponder(object client.Object) bool {
	pod, isPod := object.(*corev1.Pod)
	return isPod && protection.IsResponder(pod)
}

// podChanged reports whether a Pod changed, but for annotations that the operator itself
// writes to make the kubelet look at it.
func podChanged(before, after client.Object) bool {
	old, isPod := before.(*corev1.Pod)
	now, stillIs := after.(*corev1.Pod)
	return !isPod || !stillIs || old.UID != now.UID || (old.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		old.Annotations[criticalv2.AnnotationListeners] != now.Annotations[criticalv2.AnnotationListeners] ||
		!equality.Semantic.DeepEqual(old.Labels, now.Labels) || !equality.Semantic.DeepEqual(old.OwnerReferences, now.OwnerReferences) ||
		!equality.Semantic.DeepEqual(old.Spec, now.Spec) || !equality.Semantic.DeepEqual(old.Status, now.Status)
}

// ProblemChanged lets pass what changes what is said of a responder's Deployment. Its
// status counts Pods, which are watched themselves.
var ProblemChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		old, isDeployment := e.ObjectOld.(*appsv1.Deployment)
		now, stillIs := e.ObjectNew.(*appsv1.Deployment)
		return !isDeployment || !stillIs || old.UID != now.UID || decide.DeploymentProblem(old) != decide.DeploymentProblem(now) ||
			old.Labels[criticalv2.LabelResponder] != now.Labels[criticalv2.LabelResponder]
	},
}

// LabelsChanged lets pass what changes which CriticalServices match the Services of a
// namespace.
var LabelsChanged = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels())
	},
}
