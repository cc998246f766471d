package monitoring

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/controllers/monitoring/internal/decide"
	"github.com/critical-service/operator/internal/controller/events"
)

// Reconciler keeps all objects of monitoring. It has one key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
	period time.Duration
	// rounds bounds how often all is looked at.
	rounds *rate.Limiter
	// reported are the problems of the last round, by what they are about.
	reported map[string]string
}

// All objects have their names, and are in the operator's namespace. An apply of one that does
// not exist is authorized as a create of that name.
//
// +kubebuilder:rbac:groups=mycrd.com,resources=criticalservices,verbs=list;watch
// +kubebuilder:rbac:groups=mycrd.com,resources=servicefallbacks,verbs=list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=monitoring.coreos.com,namespace=critical-service-system,resources=servicemonitors;prometheusrules,resourceNames=critical-service-operator,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=monitoring.coreos.com,namespace=critical-service-system,resources=podmonitors,resourceNames=critical-service-responder,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups="",namespace=critical-service-system,resources=configmaps,resourceNames=critical-service-operator-dashboard,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile observes the objects, decides what they need, and does it. No failure comes back
// sooner than the next round: nothing waits for these objects, and what is refused now mostly
// is for long.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !r.rounds.Allow() {
		return ctrl.Result{RequeueAfter: betweenRounds}, nil
	}
	snap, problems := r.observe(ctx)
	plan := decide.Decide(snap)
	done := r.apply(ctx, plan)
	r.report(ctx, plan, done, problems)
	return ctrl.Result{RequeueAfter: r.period}, nil
}
