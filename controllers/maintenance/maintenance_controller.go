package maintenance

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/store"
)

// Reconciler ends one maintenance per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
	// lastReported is the problem of each maintenance that was reported last, so that
	// what is checked every minute is reported once. After a restart, it is once more.
	lastReported store.Map[types.NamespacedName, string]
}

// The permissions to end a maintenance come with a Role of its own.
//
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile observes the maintenance, decides whether it is over, and ends it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	done, err := r.apply(ctx, &snap, &plan)
	if fault.Of(err) == fault.UserMustAct {
		plan.Stuck, plan.RecheckAfter, err = err.Error(), decide.RetryInterval, nil
	}
	r.report(ctx, req.NamespacedName, &snap, plan, done)
	if err != nil {
		return fault.Result(err)
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
