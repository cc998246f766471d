package maintenance

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// workers keep one slow answer about a workload from delaying the ends of all others.
const workers = 4

// Setup adds the controller of this kind to the manager. It reads what other kinds
// keep in the caches: EndpointSlices, Services, fallback Pods, and the index of Maintenances
// by Service.
func Setup(mgr ctrl.Manager, options Options) error {
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	writer, err := write.Counted(mgr.GetClient(), options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	r := &Reconciler{
		observer: observer{cached: mgr.GetClient(), asked: mgr.GetClient(), clock: clock.RealClock{}},
		Emitter:  events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:   writer,
		live:     mgr.GetAPIReader(),
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("maintenance").
		For(&criticalv2.Maintenance{}, builder.WithPredicates(isNews)).
		Watches(&discoveryv1.EndpointSlice{}, handler.EnqueueRequestsFromMapFunc(maintenancesOf(mgr.GetClient())), builder.WithPredicates(isOfOthers)).
		WithOptions(queue.Options(workers)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the maintenance controller: %w", err)
	}
	return nil
}

// isNews admits what a decision may depend on.
var isNews = queue.News(func(m *criticalv2.Maintenance) { queue.Wordless(m.Status.Conditions) })

// isOfOthers admits the slices from which it may be seen that an application is back.
var isOfOthers = predicate.NewPredicateFuncs(func(object client.Object) bool { return !protection.IsStandby(object) })

// maintenancesOf wakes the Maintenances that wait until the Service of a slice answers.
func maintenancesOf(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, slice client.Object) []reconcile.Request {
		var all criticalv2.MaintenanceList
		err := reader.List(ctx, &all, client.InNamespace(slice.GetNamespace()),
			client.MatchingFields{protection.IndexServicesOfMaintenance: slice.GetLabels()[discoveryv1.LabelServiceName]}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil // The cache fails only while the operator stops or has not started.
		}
		var requests []reconcile.Request
		for i := range all.Items {
			active := meta.FindStatusCondition(all.Items[i].Status.Conditions, criticalv2.MaintenanceActive)
			if active != nil && active.Reason == criticalv2.MaintenanceAwaitingApplication {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
			}
		}
		return requests
	}
}
