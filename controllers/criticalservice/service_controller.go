package criticalservice

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
)

// ServiceReconciler protects one Service per key.
type ServiceReconciler struct {
	observer
	events.Announcer
	client  client.Client
	wake    wakeStatus
	metrics *metrics
	// inquiries are told of every outage, and of its end.
	inquiries *inquiries
	// rehearsals holds a place for every rehearsal that is under way.
	rehearsals chan struct{}
}

// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services;namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=podtemplates,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile observes the Service, decides what it needs, and does it.
func (r *ServiceReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	if snap.Service == nil {
		r.attempts.forget(req.NamespacedName)
		r.refusals.forget(req.NamespacedName)
		r.namesakes.forget(req.NamespacedName)
	}
	plan := decide.Decide(snap)
	done, err := r.apply(ctx, req.NamespacedName, plan)
	r.metrics.activated(req.NamespacedName, &snap, &plan, &done)
	r.report(ctx, &snap, plan, done)
	r.inquiries.follow(req.NamespacedName, snap.Service, plan)
	if err != nil {
		return fault.Result(err)
	}
	// Looking again is as urgent as the state is: without this, the queue would
	// keep for ever the priority that an outage once had.
	priority := 0
	if plan.State == criticalv2.StateExposed {
		priority = outagePriority
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter, Priority: &priority}, nil
}
