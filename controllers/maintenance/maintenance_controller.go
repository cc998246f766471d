package maintenance

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
)

// Reconciler follows one Maintenance per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
	// live reads from the API server.
	live client.Reader
}

// The permission to scale a workload comes with a Role of its own.
//
// +kubebuilder:rbac:groups=mycrd.com,resources=maintenances,verbs=get;list;watch;patch;delete,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=maintenances/status,verbs=patch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//
// Every authenticated user may ask for himself who he is, and what he may do, unless a
// cluster took that right away.
// +kubebuilder:rbac:groups=authentication.k8s.io,resources=selfsubjectreviews,verbs=create
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=selfsubjectaccessreviews,verbs=create

// Reconcile observes the maintenance, decides how it goes on, and does that.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil || snap.Maintenance == nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	err = r.giveBack(ctx, &snap, &plan)
	if fault.Of(err) == fault.UserMustAct {
		plan, err = decide.Failed(snap, err), nil
	}
	if err == nil {
		err = r.record(ctx, &snap, &plan)
	}
	if err != nil {
		return fault.Result(err)
	}
	r.report(ctx, &snap, &plan)
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
