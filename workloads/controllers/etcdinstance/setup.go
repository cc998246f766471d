package etcdinstance

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/live"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Options are the settings of this kind.
type Options struct {
	// Image runs an ETCDInstance that names none.
	Image string
	// OwnImage is that of the operator, which has the program that moves snapshots; empty where it
	// is not known.
	OwnImage string
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// Fallbacks follows the ServiceFallbacks, for all kinds.
	Fallbacks *fallback.Watch
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
	// Etcd asks and changes clusters; nil is the real one. Tests have others.
	Etcd live.Etcd
}

// workers is how many ETCDInstances are worked on at the same time. Each may wait for members that
// do not answer.
const workers = 16

// Claims are not deleted, and Secrets not listed. A certificate is renewed in its Secret.
//
// +kubebuilder:rbac:groups=mycrd.com,resources=etcdinstances,verbs=get;list;watch;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=etcdinstances/status,verbs=patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;delete,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=services;configmaps,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch,roleName=critical-service-workloads-namespaces

// Setup adds the controller of this kind to the manager.
func Setup(mgr ctrl.Manager, options Options) error {
	recorder, err := events.NewRecorder(mgr, workloadsv1.ManagedBy)
	if err != nil {
		return err
	}
	writer, err := write.CountedAs(mgr.GetClient(), workloadsv1.ManagedBy, options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	made, err := newCache(mgr, options.Namespaces)
	if err != nil {
		return err
	}
	if options.Etcd == nil {
		options.Etcd = live.Client{}
	}
	r := &Reconciler{
		observer: observer{
			cached: mgr.GetClient(), made: made, live: mgr.GetAPIReader(), etcd: options.Etcd,
			fallbacks: options.Fallbacks, image: options.Image, ownImage: options.OwnImage, clock: clock.RealClock{},
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
	}
	ofInstance := handler.EnqueueRequestsFromMapFunc(instanceOf)
	build := ctrl.NewControllerManagedBy(mgr).
		Named("etcdinstance").
		For(&workloadsv1alpha1.ETCDInstance{}, builder.WithPredicates(isNews)).
		WatchesRawSource(options.Fallbacks.Source(workloadsv1alpha1.ETCDInstanceKind.Kind, instances(mgr.GetClient()))).
		WithOptions(order())
	for _, object := range []client.Object{
		&corev1.Pod{}, &corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.ConfigMap{}, &appsv1.StatefulSet{}, &policyv1.PodDisruptionBudget{},
	} {
		build = build.WatchesRawSource(source.Kind(made, object, ofInstance))
	}
	if err := build.Complete(r); err != nil {
		return fmt.Errorf("set up the etcdinstance controller: %w", err)
	}
	return nil
}

// order takes namespaces in turn: members that do not answer hold a worker for seconds, and a team
// with many clusters of such must not make all others wait.
func order() controller.Options {
	made := queue.Options(workers)
	made.NewQueue = queue.NewFair
	return made
}

// isNews admits what a decision may depend on.
var isNews = queue.News(func(e *workloadsv1alpha1.ETCDInstance) {
	e.Status.Message, e.Status.DBSizeBytes, e.Status.Revision = "", 0, 0
	queue.Wordless(e.Status.Conditions)
})

// instanceOf wakes the ETCDInstance that an object says it is of.
func instanceOf(_ context.Context, object client.Object) []reconcile.Request {
	name := render.NameOf(object)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// instances lists all of them, by name.
func instances(reader client.Reader) func(context.Context) []types.NamespacedName {
	return func(ctx context.Context) []types.NamespacedName {
		var all workloadsv1alpha1.ETCDInstanceList
		if err := reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
			return nil // The cache fails only while the operator stops or has not started.
		}
		names := make([]types.NamespacedName, 0, len(all.Items))
		for i := range all.Items {
			names = append(names, client.ObjectKeyFromObject(&all.Items[i]))
		}
		return names
	}
}
