package appconfig

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// Options are the settings of this kind.
type Options struct {
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// Registry is where metrics are registered; nil registers none.
	Registry prometheus.Registerer
}

// workers keep a slow search for what is in use from delaying all others.
const workers = 4

// What may be listed of other kinds is listed only to find out whether a ConfigMap is in use;
// of a workload only what one container takes is written.
//
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs,verbs=get;list;watch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs/status,verbs=patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets,verbs=get;list;watch;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=list,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=servicefallbacks,verbs=list,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch,roleName=critical-service-workloads-namespaces

// Setup adds the controller of this kind to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	for _, kind := range []client.Object{&corev1.ConfigMap{}, &appsv1.Deployment{}, &appsv1.StatefulSet{}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, kind, workloadsv2.LabelAppConfig, byAppConfig); err != nil {
			return fmt.Errorf("index what carries the label %s: %w", workloadsv2.LabelAppConfig, err)
		}
	}
	recorder, err := events.NewRecorder(mgr, workloadsv1.ManagedBy)
	if err != nil {
		return err
	}
	writer, err := write.CountedAs(mgr.GetClient(), workloadsv1.ManagedBy, options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	live, err := read.Bounded(mgr, maxLive)
	if err != nil {
		return fmt.Errorf("make a reader of the API server: %w", err)
	}
	r := &Reconciler{
		observer: observer{
			cached: mgr.GetClient(), live: live, clock: clock.RealClock{}, searches: newPace(),
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
	}
	usedBy := handler.EnqueueRequestsFromMapFunc(appConfigOf)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("appconfig").
		For(&workloadsv2.AppConfig{}, builder.WithPredicates(isNews)).
		Owns(&corev1.ConfigMap{}).
		Watches(&appsv1.Deployment{}, usedBy, builder.WithPredicates(useChanged)).
		Watches(&appsv1.StatefulSet{}, usedBy, builder.WithPredicates(useChanged)).
		WithOptions(queue.Options(workers)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the appconfig controller: %w", err)
	}
	return nil
}

// isNews admits what a decision may depend on.
var isNews = queue.News(func(app *workloadsv2.AppConfig) { queue.Wordless(app.Status.Conditions) })

// appConfigOf wakes the AppConfig that a workload uses.
func appConfigOf(_ context.Context, workload client.Object) []reconcile.Request {
	name := workload.GetLabels()[workloadsv2.LabelAppConfig]
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: workload.GetNamespace(), Name: name}}}
}

// useChanged admits what a decision depends on, and not each Pod of a rollout.
var useChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, now := e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()
	return before[workloadsv2.LabelAppConfig] != now[workloadsv2.LabelAppConfig] ||
		!equality.Semantic.DeepEqual(workloadOf(e.ObjectOld), workloadOf(e.ObjectNew))
}}
