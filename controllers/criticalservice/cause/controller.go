// Package cause finds out why a Service is down, while it is. Its key is the Service.
package cause

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/diagnosis"
	"github.com/critical-service/operator/internal/diagnosis/evidence"
)

// Reconciler finds out, for each Service in outage, what explains the outage.
// It protects nothing, and writes nothing but events.
type Reconciler struct {
	observe.Observer
	events.Emitter
	// Reader reads what explains an outage.
	Reader client.Reader
	// Diagnoses are the outages that are looked into.
	Diagnoses *Diagnoses
	// Wake wakes the status of CriticalServices.
	Wake wake.Status
}

// lookTimeout bounds one look. An API server that is busy has more important things
// to do than to answer it.
const lookTimeout = 10 * time.Second

// Setup adds the controller to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("cause").
		WatchesRawSource(r.Diagnoses.waker).
		WithOptions(queue.Options(2)).
		Complete(r)
}

// Reconcile looks for the cause of an outage, and again at growing intervals while it
// lasts.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := req.NamespacedName
	last := r.Memory.Diagnoses.Get(key)
	if last == nil {
		return ctrl.Result{}, nil
	}
	if left := last.Next.Sub(r.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	// The service controller ends the search when it sees the end of the outage, so
	// that until then it goes on, whatever is seen here now.
	next, report := *last, func() {}
	if snap, err := r.ObserveCached(ctx, key); err == nil && snap.Service != nil {
		plan := decide.Decide(snap)
		if next.Planned = plan.IsPlanned(); inOutage(plan) && !next.Planned {
			report = r.diagnose(ctx, &snap, plan, last, &next)
		}
	}
	wait := looked(&next, r.Clock.Now(), r.Diagnoses.peers(&next))
	if r.Diagnoses.replace(key, last, &next) {
		report()
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// diagnose reads what there is, learns what it means, and returns how to report it.
func (r *Reconciler) diagnose(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, last, next *memory.Diagnosis) (report func()) {
	limited, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	read, err := evidence.Collect(limited, r.Reader, snap.Service, evidence.Usual)
	if err != nil {
		if ctx.Err() == nil { // Else the operator stops.
			ctrl.LoggerFrom(ctx).Info("cannot find out why the Service is down; retrying", "error", err.Error())
		}
		return func() {}
	}
	found := diagnosis.Diagnose(read)
	isNews := learn(next, found, inStatus(plan.Governor, client.ObjectKeyFromObject(snap.Service)))
	return func() {
		if isNews {
			r.Emit(snap.Service, plan.Governor, corev1.EventTypeWarning, found.Reason, "DiagnoseOutage", "%s", found.Message)
		}
		if next.Cause != last.Cause {
			r.Wake.About(client.ObjectKeyFromObject(snap.Service))
		}
	}
}

// inStatus is the cause that the status gives of an outage before this operator has
// looked, so that another one has; nil if there is none. How long this process
// runs says nothing: it may have waited for a long time to lead.
func inStatus(governor criticalv2.Policy, key types.NamespacedName) *criticalv2.OutageCause {
	if detail := governor.Observed().DetailOf(key.Namespace, key.Name); detail != nil {
		return detail.Cause
	}
	return nil
}
