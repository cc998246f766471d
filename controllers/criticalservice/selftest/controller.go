// Package selftest asks the standby of each Service for an answer before it is needed, and
// in an outage the fallback Pods that the Service selects.
// Its key is the Service.
package selftest

import (
	"context"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/protection"
)

const (
	// firstLook is when a standby is tested after it was published or has changed: its
	// Pods may have become ready in this very moment.
	firstLook = 2 * time.Second
	// secondLook is when a standby is tested again that did not answer. Only what is
	// silent twice counts: Pods of a responder come and go.
	secondLook = 5 * time.Second
	// silentLook is how often a standby is tested that is known to be silent, so that a
	// fix is soon seen.
	silentLook = 30 * time.Second
	// testsAtOnce is how many Services are tested at the same time.
	testsAtOnce = 4
)

// Reconciler asks the fallback of one Service per key for an answer, from inside the
// cluster. It changes nothing: the status controller reports what
// it found, and a standby Pod that has fallen silent is replaced by decision.
type Reconciler struct {
	observe.Observer
	events.Emitter
	// Wake wakes the status of CriticalServices, and Protect decides on a Service again.
	Wake    wake.Status
	Protect *queue.Waker
	Metrics *metrics.Counters
	// Every is how often each standby is tested.
	Every time.Duration
	// Woken wakes this controller where there is a fallback to ask and was none before.
	Woken *queue.Waker
	// Dial opens connections; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// NewWaker makes a Waker for tests at an interval; nil if there are none.
func NewWaker(every time.Duration) *queue.Waker {
	if every <= 0 {
		return nil
	}
	return queue.NewWaker(min(firstLook, every))
}

// Setup adds the controller to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("self-test").
		Watches(&discoveryv1.EndpointSlice{}, r.standbyChanged()).
		WatchesRawSource(r.Woken).
		WithOptions(queue.Options(testsAtOnce)).
		Complete(r)
}

// standbyChanged wakes the Service of a standby slice that is new, is gone, or
// publishes other endpoints. Promotion is no change: a mass failure leaves no time for
// tests.
func (r *Reconciler) standbyChanged() handler.EventHandler {
	look := func(object client.Object, q queue.Requests) {
		slice, isSlice := object.(*discoveryv1.EndpointSlice)
		if names := observe.ServiceOfSlice(object); isSlice && len(names) > 0 && protection.IsStandby(slice) {
			q.AddAfter(wake.Request(slice.Namespace, names[0]), min(firstLook, r.Every))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue.Requests) { look(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue.Requests) {
			if !samePublished(e.ObjectOld, e.ObjectNew) {
				look(e.ObjectOld, q)
				look(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue.Requests) { look(e.Object, q) },
	}
}

// samePublished reports whether two states of a slice differ, if at all, in whether
// their endpoints are ready.
func samePublished(before, after client.Object) bool {
	was, wasSlice := before.(*discoveryv1.EndpointSlice)
	is, isSlice := after.(*discoveryv1.EndpointSlice)
	if !wasSlice || !isSlice || len(was.Endpoints) != len(is.Endpoints) {
		return false
	}
	for i := range is.Endpoints {
		if !equality.Semantic.DeepEqual(was.Endpoints[i].Addresses, is.Endpoints[i].Addresses) ||
			!equality.Semantic.DeepEqual(was.Endpoints[i].TargetRef, is.Endpoints[i].TargetRef) {
			return false
		}
	}
	return equality.Semantic.DeepEqual(was.Ports, is.Ports) && equality.Semantic.DeepEqual(was.Labels, is.Labels)
}

// Reconcile tests the standby of a Service, and requeues the next test.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := req.NamespacedName
	snap, err := r.ObserveCached(ctx, key)
	if err != nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	if plan.Governor == nil || !summary.Publishes(&snap) {
		r.Memory.Checks.Delete(key)
		r.Memory.Unconfirmed.Delete(key)
		r.Memory.Answers.Delete(key)
		return ctrl.Result{}, nil // It is woken once there is something to ask.
	}
	questions, err := r.questions(ctx, &snap)
	if err != nil {
		return fault.Result(err)
	}
	silent := r.ask(ctx, &snap, questions)
	if ctx.Err() != nil {
		return ctrl.Result{}, nil // The operator stops; the standby is not at fault.
	}
	if len(questions) > 0 {
		r.Metrics.SelfTested(len(silent) == 0)
	}
	confirmed, unconfirmed := confirm(silent, ptr.Deref(r.Memory.Unconfirmed.Get(key), nil))
	r.Memory.Unconfirmed.Set(key, unconfirmed)
	last := ptr.Deref(r.Memory.Answers.Get(key), memory.Answer{})
	if answer := answerOf(snap.Pods, questions, silent, confirmed, last); answer != last {
		r.Memory.Answers.Set(key, answer)
		if answer.Fell != last.Fell {
			r.Protect.Wake(key)
		}
	}
	if isConclusive(silent, confirmed) {
		r.record(&snap, plan, summary.Check{Asked: len(questions), Silence: silenceOf(&snap, confirmed)})
	}
	return ctrl.Result{RequeueAfter: nextTest(key, r.Clock.Now(), r.Every, silent, confirmed)}, nil
}

// record keeps what was found. If it is news, it wakes the status, and reports a
// standby that fell silent, or that answers again.
func (r *Reconciler) record(snap *decide.Snapshot, plan decide.Plan, check summary.Check) {
	key := client.ObjectKeyFromObject(snap.Service)
	found := compare(r.Memory.Checks.Get(key), check, reportedSilent(plan.Governor, snap.Service))
	if !found.isNews {
		return
	}
	r.Memory.Checks.Set(key, check)
	r.Wake.About(key)
	switch found.event {
	case criticalv2.ConditionReasonStandbySilent:
		r.Emit(snap.Service, plan.Governor, corev1.EventTypeWarning, found.event, "TestFallback",
			"The standby does not answer: %s", check.Silence.Message)
	case criticalv2.ConditionReasonStandbyAnswers:
		r.Emit(snap.Service, plan.Governor, corev1.EventTypeNormal, found.event, "TestFallback",
			"The standby answers again on every port (%s %q)", plan.Governor.PolicyKind().Kind, plan.Governor.GetName())
	}
}

// reportedSilent reports whether the status already says that the standby of a Service is
// silent: an operator before this one found it.
func reportedSilent(policy criticalv2.Policy, service *corev1.Service) bool {
	detail := policy.Observed().DetailOf(service.Namespace, service.Name)
	return detail != nil && detail.Failover != nil && detail.Failover.Reason == criticalv2.ConditionReasonStandbySilent
}
