package maintenance

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
)

// Options are the settings of this kind.
type Options struct {
	// Registry is where metrics are registered; nil registers none.
	Registry prometheus.Registerer
}

// Setup adds the controller of this kind to the manager. It reads what other kinds
// keep in the caches: ConfigMaps with the responder's label, EndpointSlices, Services,
// and fallback Pods.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.ConfigMap{}, indexService, serviceOf); err != nil {
		return fmt.Errorf("index maintenances by Service: %w", err)
	}
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	writer, err := write.Counted(mgr.GetClient(), options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	r := &Reconciler{
		observer: observer{
			cached: mgr.GetClient(), scales: mgr.GetClient(), mapper: mgr.GetRESTMapper(), clock: clock.RealClock{},
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("maintenance").
		For(&corev1.ConfigMap{}, builder.WithPredicates(isMaintenance)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(maintenancesOf(mgr.GetClient())), builder.WithPredicates(isOfOthers)).
		WithOptions(queue.Options(1)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the maintenance controller: %w", err)
	}
	return nil
}

// isMaintenance admits what announces a maintenance, or did before.
var isMaintenance = predicate.Funcs{
	CreateFunc: func(e event.CreateEvent) bool { return announces(e.Object) },
	UpdateFunc: func(e event.UpdateEvent) bool { return announces(e.ObjectOld) || announces(e.ObjectNew) },
	DeleteFunc: func(e event.DeleteEvent) bool { return announces(e.Object) },
}

func announces(object client.Object) bool {
	return object.GetLabels()[criticalv2.LabelResponder] == criticalv2.ResponderMaintenance
}

// isOfOthers admits the slices from which it may be seen that an application is back.
var isOfOthers = predicate.NewPredicateFuncs(func(object client.Object) bool { return !protection.IsStandby(object) })

// indexService is the cache's index of maintenances by their Service, so that the
// slices of other Services cost nothing.
const indexService = "maintained"

func serviceOf(object client.Object) []string {
	config, isConfigMap := object.(*corev1.ConfigMap)
	if !isConfigMap || !announces(config) {
		return nil
	}
	return []string{config.Data[criticalv2.MaintenanceService]}
}

// maintenancesOf wakes what is announced for the Service of a slice.
func maintenancesOf(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, slice client.Object) []reconcile.Request {
		var configs corev1.ConfigMapList
		err := reader.List(ctx, &configs, client.InNamespace(slice.GetNamespace()),
			client.MatchingFields{indexService: slice.GetLabels()[discoveryv1.LabelServiceName]}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil // The cache fails only while the operator stops or has not started.
		}
		var requests []reconcile.Request
		for i := range configs.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&configs.Items[i])})
		}
		return requests
	}
}
