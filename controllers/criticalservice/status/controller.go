// Package status writes the status of each policy, and the events that a change of it is
// worth. Its key is the policy: a CriticalService has no namespace, a ServiceFallback has.
package status

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
)

// Reconciler sums up, per policy, what the controller that protects decided
// about the Services that it matches. It observes and decides nothing itself.
type Reconciler struct {
	observe.Observer
	events.Emitter
	// Client writes.
	Client  client.Client
	Metrics *metrics.Counters
	// Wake wakes this controller, and Protect the one that protects.
	Wake    wake.Status
	Protect *queue.Waker
	// Untested is true where the self-test is off.
	Untested bool
}

// pace is the least time between two writes of the same status: in a mass failure, one
// write carries the changes of many Services.
const pace = time.Second

// changed lets pass what this controller wrote, too: until the cache shows that, a new status is compared with an earlier one,
// and not written where they are equal.
var changed = predicate.ResourceVersionChangedPredicate{}

// Setup adds the controller to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	statuses := ctrl.NewControllerManagedBy(mgr).
		Named("status").
		For(&criticalv2.CriticalService{}, builder.WithPredicates(changed)).
		WatchesRawSource(r.Wake).
		WithOptions(queue.Options(2))
	if !r.NoTenants {
		statuses = statuses.
			Watches(&criticalv2.ServiceFallback{}, &handler.EnqueueRequestForObject{}, builder.WithPredicates(changed)).
			Watches(&criticalv2.ServiceFallback{}, handler.Funcs{DeleteFunc: r.misplaced})
	}
	return statuses.Complete(r)
}

// misplaced wakes the ServiceFallbacks that count because another one is gone.
func (r *Reconciler) misplaced(ctx context.Context, e event.DeleteEvent, q queue.Requests) {
	observe.EachMisplaced(ctx, r.Cached, e.Object.GetNamespace(), func(policy criticalv2.Policy) {
		q.Add(ctrl.Request{NamespacedName: summary.KeyOf(policy)})
	})
}

// Reconcile writes the status where it differs, and then sends the events that
// the difference is worth.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	policy := policyAt(req.NamespacedName)
	if err := r.Cached.Get(ctx, req.NamespacedName, policy); err != nil {
		if apierrors.IsNotFound(err) {
			r.Memory.Statuses.Delete(req.NamespacedName)
		}
		return fault.Result(err)
	}
	if wait := r.untilNext(req.NamespacedName); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	scope := summary.Scope{Unwatched: r.unwatched(policy), Surplus: !observe.Counts(ctx, r.Cached, policy)}
	var judged []*memory.Judged
	if !scope.Surplus {
		var settled bool
		if judged, settled = r.judgements(ctx, policy); !settled {
			// The Service that is waited for wakes the status, unless it is gone.
			return ctrl.Result{RequeueAfter: pace}, nil
		}
	}
	verdicts := r.verdicts(judged)
	updated := policy.DeepCopyObject().(criticalv2.Policy)
	*updated.Observed() = summary.Summarize(policy, verdicts, scope, r.Clock.Now())
	written := updated.DeepCopyObject().(criticalv2.Policy)
	wrote, err := write.Status(ctx, r.Client, policy, written)
	if apierrors.IsInvalid(err) {
		return fault.Result(fault.BugFrom(err))
	}
	if err != nil {
		return fault.Result(err)
	}
	if wrote {
		r.follow(req.NamespacedName, func(status *memory.Status) { status.Written = r.Clock.Now() })
		r.Metrics.Follow(policy, updated.Observed(), verdicts)
		r.emit(ctx, policy, updated)
	}
	return ctrl.Result{}, nil
}

// policyAt is an empty object of the kind that a key means: a CriticalService has no
// namespace.
func policyAt(key types.NamespacedName) criticalv2.Policy {
	if key.Namespace != "" {
		return &criticalv2.ServiceFallback{}
	}
	return &criticalv2.CriticalService{}
}

// untilNext is how long it is until the status may be written again.
func (r *Reconciler) untilNext(policy types.NamespacedName) time.Duration {
	known := r.Memory.Statuses.Get(policy)
	if known == nil {
		return 0
	}
	return known.Written.Add(pace).Sub(r.Clock.Now())
}

// follow keeps how far the status of a CriticalService is.
func (r *Reconciler) follow(policy types.NamespacedName, change func(*memory.Status)) {
	r.Memory.Statuses.Update(policy, func(last *memory.Status) *memory.Status {
		next := ptr.Deref(last, memory.Status{})
		change(&next)
		return &next
	})
}

// verdicts join what was decided with what else is known of each Service.
func (r *Reconciler) verdicts(judged []*memory.Judged) []summary.Verdict {
	verdicts := make([]summary.Verdict, 0, len(judged))
	for _, known := range judged {
		verdict := summary.Verdict{Judgement: known.Judgement, Cause: r.Memory.Cause(known.Service), Check: &summary.Check{}}
		if known.Published && !r.Untested {
			verdict.Check = r.Memory.Checks.Get(known.Service)
		}
		verdicts = append(verdicts, verdict)
	}
	return verdicts
}

// emit sends the events that a change of the status is worth.
func (r *Reconciler) emit(ctx context.Context, before, after criticalv2.Policy) {
	for _, w := range warnings(before.Observed().Details, after.Observed().Details) {
		if w.service == nil {
			r.Emit(after, nil, corev1.EventTypeWarning, w.reason, "PrepareFallback", "%s", w.message)
			continue
		}
		service, err := read.Existing[corev1.Service](ctx, r.Cached, *w.service)
		if err == nil && service != nil {
			r.Emit(service, after, corev1.EventTypeWarning, w.reason, "PrepareFallback", "%s", w.message)
		}
	}
}
