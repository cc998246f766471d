// Package cause finds out why a Service is down, while it is. Its key is the Service.
package cause

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/source"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/diagnosis"
	"github.com/critical-service/operator/internal/diagnosis/evidence"
)

// Reconciler finds out, for each Service in outage, what explains the outage.
// It protects nothing, and writes nothing but events.
type Reconciler struct {
	observe.Observer
	events.Announcer
	// Diagnoses are the outages that are looked into.
	Diagnoses *Diagnoses
	// Wake wakes the status of CriticalServices.
	Wake wake.Status
}

// lookWithin bounds one look. An API server that is busy has more important things
// to do than to answer it.
const lookWithin = 10 * time.Second

// What is read to explain an outage; docs/causes.md says what each is for.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments;statefulsets;daemonsets;replicasets,verbs=list
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=list

// Setup adds the controller to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("cause").
		WatchesRawSource(source.Func(r.Diagnoses.listen)).
		WithOptions(wake.Options(2)).
		Complete(r)
}

// Reconcile looks for the cause of an outage, and again with growing distance while
// it lasts.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	search := r.Diagnoses.of(req.NamespacedName)
	if search == nil {
		return ctrl.Result{}, nil
	}
	if left := search.next.Sub(r.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	// The service controller ends the search when it sees the end of the outage, so
	// that until then it is looked at again, whatever is seen here now.
	if snap, err := r.ObserveCached(ctx, req.NamespacedName); err == nil && snap.Service != nil {
		plan := decide.Decide(snap)
		if inOutage(plan) && !plan.IsPlanned() {
			r.diagnose(ctx, req.NamespacedName, search, &snap, plan)
		}
	}
	return ctrl.Result{RequeueAfter: search.looked(r.Clock.Now())}, nil
}

// diagnose reads what there is, and tells what it means.
func (r *Reconciler) diagnose(ctx context.Context, key types.NamespacedName, search *search, snap *decide.Snapshot, plan decide.Plan) {
	limited, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	read, err := evidence.Collect(limited, r.Live, snap.Service, evidence.Usual)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("cannot find out why the Service is down; it will be tried again", "error", err.Error())
		return
	}
	found := diagnosis.Diagnose(read)
	current, changed := r.Diagnoses.settle(key, search, found)
	if current {
		r.tell(search, snap.Service, plan.Governor, found.OutageCause)
	}
	if changed {
		r.Wake.Matching(ctx, snap)
	}
}

// unspoken are the causes of which no event tells: that nothing was found, and
// what is as it should be.
var unspoken = []string{criticalv2.CauseNotFound, criticalv2.CausePodsStarting}

// tell sends one event for each reason that an outage has. What the operator before
// this one told of the same outage is not said again.
func (r *Reconciler) tell(search *search, service *corev1.Service, governor *criticalv2.CriticalService, cause criticalv2.OutageCause) {
	if search.told == nil {
		search.told = map[string]bool{}
		if before := saidBefore(governor, client.ObjectKeyFromObject(service)); before != nil {
			search.told[before.Reason] = true
		}
	}
	if search.told[cause.Reason] || slices.Contains(unspoken, cause.Reason) {
		return
	}
	search.told[cause.Reason] = true
	r.Tell(service, governor, corev1.EventTypeWarning, cause.Reason, "DiagnoseOutage", "%s", cause.Message)
}

// saidBefore is the cause that the status gives of an outage before this operator
// has looked, so that another one has; nil if there is none. How long this process
// runs says nothing: it may have waited for a long time to lead.
func saidBefore(governor *criticalv2.CriticalService, key types.NamespacedName) *criticalv2.OutageCause {
	if detail := governor.Status.DetailOf(key.Namespace, key.Name); detail != nil {
		return detail.Cause
	}
	return nil
}
