package ingress

import (
	"context"
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/permission"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// Options are the settings of this controller.
type Options struct {
	// Permitted reports whether the operator may do that: see IsPermitted.
	Permitted bool
	// Annotations are kept on every Ingress.
	Annotations map[string]string
	// Status says on each Ingress which of its Services are on their fallback.
	Status bool
	// Classes are those of the Ingresses that are looked at; empty is all.
	Classes []string
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

// IsSet reports whether the controller has anything to set.
func (o *Options) IsSet() bool { return len(o.Annotations) > 0 || o.Status }

const (
	// workers is how many Ingresses are worked on at the same time, and perNamespace how many of
	// one namespace are written.
	workers, perNamespace = 8, 4
	// writesPerSecond is how fast Ingresses are written in all: a Service may be behind 1,000.
	writesPerSecond = 50
)

// Setup adds the controller to the manager where it is permitted. Without settings it takes off
// what it set earlier. With settings and without the permission it is an error.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if !options.Permitted {
		if options.IsSet() {
			return errors.New("INGRESS_ANNOTATIONS or INGRESS_STATUS is set, and the operator may not list, watch and patch Ingresses: " +
				"install config/ingress as well, or clear the settings")
		}
		return nil
	}
	recorder, err := events.NewRecorder(mgr, workloadsv1.ManagedBy)
	if err != nil {
		return err
	}
	writer, err := write.CountedAs(mgr.GetClient(), workloadsv1.ManagedBy, options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	if err := index(ctx, mgr); err != nil {
		return err
	}
	r := &Reconciler{
		observer: observer{cached: mgr.GetClient(), options: options},
		Emitter:  events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:   writer, places: newPlaces(perNamespace),
		pace: flowcontrol.NewTokenBucketRateLimiter(writesPerSecond, writesPerSecond),
	}
	withFairQueue := queue.Options(workers)
	withFairQueue.NewQueue = queue.NewFair
	err = ctrl.NewControllerManagedBy(mgr).
		Named("ingress").
		For(&networkingv1.Ingress{}, builder.WithPredicates(changes)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(r.behind), builder.WithPredicates(promotions)).
		WatchesRawSource(r.places.free).
		WithOptions(withFairQueue).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the ingress controller: %w", err)
	}
	return nil
}

// IsPermitted asks the API server whether config/ingress is installed, which has the permission. It
// has to be known before anything is read.
func IsPermitted(ctx context.Context, config *rest.Config, namespaces []string) (bool, error) {
	return permission.Granted(ctx, config, namespaces,
		permission.Rule{Group: networkingv1.GroupName, Resource: "ingresses", Verbs: []string{"list", "watch", "patch"}})
}

func index(ctx context.Context, mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(ctx, &networkingv1.Ingress{}, indexServices, func(object client.Object) []string {
		return split(object.GetAnnotations()[noteServices])
	})
	if err == nil {
		err = mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, indexPromoted, func(object client.Object) []string {
			if slice, is := object.(*discoveryv1.EndpointSlice); is && isPromoted(slice) {
				return []string{slice.Labels[discoveryv1.LabelServiceName]}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("index Ingresses and EndpointSlices: %w", err)
	}
	return nil
}

// changes are those of an Ingress that may need a write: of the class, the backends, and the
// annotations that the operator sets. An Ingress that goes needs none.
var changes = predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return differ(e.ObjectOld, e.ObjectNew) },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// differ compares what the cache keeps of two states of an Ingress.
func differ(old, now client.Object) bool {
	before, wasIngress := old.(*networkingv1.Ingress)
	after, isIngress := now.(*networkingv1.Ingress)
	return !wasIngress || !isIngress || !equality.Semantic.DeepEqual(before.Annotations, after.Annotations) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec) || before.UID != after.UID
}

// promotions are the changes of a slice between standby and promoted.
var promotions = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return promoted(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return promoted(e.ObjectOld) != promoted(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return promoted(e.Object) },
}

func promoted(object client.Object) bool {
	slice, is := object.(*discoveryv1.EndpointSlice)
	return is && isPromoted(slice)
}

// behind are the Ingresses that route to the Service of a slice.
func (r *Reconciler) behind(ctx context.Context, slice client.Object) []reconcile.Request {
	var all networkingv1.IngressList
	service := slice.GetLabels()[discoveryv1.LabelServiceName]
	err := r.cached.List(ctx, &all, client.InNamespace(slice.GetNamespace()), client.MatchingFields{indexServices: service}, client.UnsafeDisableDeepCopy)
	if err != nil || !r.options.Status {
		return nil // The cache fails only while the operator stops or has not started.
	}
	requests := make([]reconcile.Request, 0, len(all.Items))
	for i := range all.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
	}
	return requests
}
