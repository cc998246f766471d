// Package protect keeps each critical Service answering: it publishes, promotes and
// demotes its standby endpoints, and asks the API server for nothing else, so that no
// answer that is slow stands in the way of a promotion. Slices that do not exist yet are
// made by a controller of their own. The key of both is the Service.
package protect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/cause"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/controllers/criticalservice/reading"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
)

// Reconciler protects one Service per key.
type Reconciler struct {
	observe.Observer
	events.Emitter
	// Client writes.
	Client client.Client
	// Protect wakes this controller, Provision the one that does what may be slow, and
	// Wake the status of CriticalServices.
	Protect, Provision *queue.Waker
	Wake               wake.Status
	Metrics            *metrics.Counters
	// Diagnoses follow every outage.
	Diagnoses *cause.Diagnoses
	// SelfTest wakes the self-test; nil if there is none.
	SelfTest *queue.Waker
	// Readers read content and PodTemplates, apart from this controller.
	Readers *reading.Readers

	// creates wakes the controller that makes slices, and tables the one that compares the
	// tables of responders.
	creates, tables *queue.Waker
}

const (
	// workers wait for the API server most of the time, and the API server for its
	// storage, which takes many writes at once as easily as one.
	workers = 32
	// timeout bounds one reconcile, which is a few writes at once. It is longer than the
	// longest timeout of an admission webhook, which may let a write pass after that.
	timeout = 35 * time.Second
)

// Setup adds the controllers to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	if err := r.setupCreates(mgr); err != nil {
		return fmt.Errorf("set up the standby controller: %w", err)
	}
	if err := r.setupTables(mgr); err != nil {
		return fmt.Errorf("set up the table controller: %w", err)
	}
	options := queue.Options(workers)
	options.ReconciliationTimeout = timeout
	services := ctrl.NewControllerManagedBy(mgr).
		Named("service").
		For(&corev1.Service{}).
		Watches(&discoveryv1.EndpointSlice{}, wake.EachState(wake.ServiceOfSlice(r.Cached))).
		Watches(&corev1.Service{}, wake.EachState(wake.ServicesOfBackup(r.Cached))).
		Watches(&corev1.Pod{}, wake.EachState(wake.ServiceOfFallback)).
		Watches(&corev1.Pod{}, wake.LastState(wake.ServicesWithPage(r.Cached)), builder.WithPredicates(wake.OfResponder)).
		Watches(&appsv1.Deployment{}, wake.LastState(wake.ServicesWithPage(r.Cached)), builder.WithPredicates(wake.ProblemChanged)).
		Watches(&corev1.ConfigMap{}, wake.Tables(r.tables)).
		Watches(&criticalv2.Maintenance{}, wake.EachState(wake.ServicesOfMaintenance(r.Cached)), builder.WithPredicates(wake.AnnouncementChanged)).
		WatchesMetadata(&corev1.ConfigMap{}, wake.LastState(wake.ServicesWithPage(r.Cached)), builder.WithPredicates(wake.ComesOrGoes)).
		Watches(&corev1.Namespace{}, wake.EachState(wake.ServicesOfNamespace(r.Cached)), builder.WithPredicates(wake.LabelsChanged)).
		Watches(&criticalv2.CriticalService{}, wake.EachState(wake.ServicesOfPolicy(r.Cached)), builder.WithPredicates(wake.SpecChanged)).
		WatchesRawSource(r.Readers.Changed).
		WatchesRawSource(r.Protect).
		WithOptions(options)
	if r.Settings.NoPods == "" {
		services = services.WatchesMetadata(&corev1.PodTemplate{}, wake.EachState(wake.ServicesOfTemplate(r.Cached, r.Settings.Templates())), builder.WithPredicates(wake.ComesOrGoes))
	}
	if !r.NoTenants {
		services = services.Watches(&criticalv2.ServiceFallback{}, wake.ServicesOfFallback(r.Cached), builder.WithPredicates(wake.SpecChanged))
	}
	return services.Complete(r)
}

// Reconcile observes the Service, decides what it needs, and publishes it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, plan, err := r.decide(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	// Looking again is as urgent as the state is: without this, the queue would
	// keep for ever the priority that an outage once had.
	priority := 0
	if plan.State == criticalv2.StateExposed {
		priority = wake.OutagePriority
	}
	if slices.ContainsFunc(plan.Publish, isNew) {
		r.creates.WakeAt(req.NamespacedName, max(priority, priorityOfCreates(plan)))
	}
	done, err := r.apply(ctx, req.NamespacedName, plan, exists)
	r.report(ctx, req.NamespacedName, &snap, plan, done)
	if err != nil {
		result, err := fault.Result(err)
		if err == nil && plan.RecheckAfter > 0 {
			result.RequeueAfter = min(cmp.Or(result.RequeueAfter, plan.RecheckAfter), plan.RecheckAfter)
		}
		return result, err
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter, Priority: &priority}, nil
}

// decide decides from the caches what a Service needs.
func (r *Reconciler) decide(ctx context.Context, key types.NamespacedName) (decide.Snapshot, decide.Plan, error) {
	snap, err := r.ObserveCached(ctx, key)
	if err != nil {
		return snap, decide.Plan{}, err
	}
	plan := decide.Decide(snap)
	if r.NeedsLookup(key, &snap) {
		plan.Publish = nil // Provision finds out first whose Pod answers.
	}
	return snap, plan, nil
}
