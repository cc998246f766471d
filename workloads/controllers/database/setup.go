package database

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Options are the settings of this kind.
type Options struct {
	// ImageMongo, ImageMySQL and ImagePostgres run a Database that names no image.
	ImageMongo, ImageMySQL, ImagePostgres string
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// Fallbacks follows the ServiceFallbacks, for all kinds.
	Fallbacks *fallback.Watch
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

// workers is how many Databases are worked on at the same time. Each may wait for an
// admission webhook.
const workers = 8

// Claims are not deleted, and Secrets neither listed nor changed.
//
// +kubebuilder:rbac:groups=mycrd.com,resources=databases,verbs=get;list;watch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=databases/status,verbs=patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;create,roleName=critical-service-workloads-namespaces
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
	r := &Reconciler{
		observer: observer{
			cached: mgr.GetClient(), live: mgr.GetAPIReader(), fallbacks: options.Fallbacks, clock: clock.RealClock{},
			images: map[workloadsv1.DatabaseType]string{
				workloadsv1.DatabaseMongo: options.ImageMongo, workloadsv1.DatabaseMySQL: options.ImageMySQL, workloadsv1.DatabasePostgres: options.ImagePostgres,
			},
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
	}
	ofDatabase := handler.EnqueueRequestsFromMapFunc(databaseOf)
	err = ctrl.NewControllerManagedBy(mgr).
		Named("database").
		For(&workloadsv1.Database{}, builder.WithPredicates(isNews)).
		Watches(&corev1.Pod{}, ofDatabase).
		Watches(&corev1.Service{}, ofDatabase).
		Watches(&corev1.PersistentVolumeClaim{}, ofDatabase).
		WatchesRawSource(options.Fallbacks.Source(workloadsv1.DatabaseKind.Kind, databases(mgr.GetClient()))).
		WithOptions(queue.Options(workers)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the database controller: %w", err)
	}
	return nil
}

// isNews admits what a decision may depend on.
var isNews = queue.News(func(d *workloadsv1.Database) {
	d.Status.Message = ""
	queue.Wordless(d.Status.Conditions)
})

// databaseOf wakes the Database that an object says it is of. What outlives one, and what was
// orphaned, has no owner.
func databaseOf(_ context.Context, object client.Object) []reconcile.Request {
	name := render.NameOf(object)
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// databases lists all of them, by name.
func databases(reader client.Reader) func(context.Context) []types.NamespacedName {
	return func(ctx context.Context) []types.NamespacedName {
		var all workloadsv1.DatabaseList
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
