package criticalservice

import (
	"context"
	"hash/crc32"
	"net"
	"time"

	"github.com/critical-service/operator/internal/protection"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
)

const (
	// firstLook is when a standby is tested after it was published or has changed: its
	// Pods may have become ready in this very moment.
	firstLook = 2 * time.Second
	// secondLook is when a standby is tested again that did not answer. Only what is
	// silent twice counts: Pods of a responder come and go.
	secondLook = 5 * time.Second
	// silentLook is how often a standby is tested that is known to be silent, so that a
	// fix soon shows in the status.
	silentLook = 30 * time.Second
	// testsAtOnce is how many Services are tested at the same time.
	testsAtOnce = 4
)

// SelfTestReconciler asks the standby of one Service per key for an answer, from
// inside the cluster, before it is needed. It changes nothing: the status controller
// reports what it found.
type SelfTestReconciler struct {
	observer
	events.Announcer
	wake    wakeStatus
	metrics *metrics
	// every is how often each standby is tested.
	every time.Duration
	// dial opens connections; nil is the network.
	dial func(ctx context.Context, network, address string) (net.Conn, error)
	// unconfirmed are, by Service, the questions that had no answer when last asked.
	unconfirmed *answers[map[question]bool]
}

func (r *SelfTestReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("self-test").
		Watches(&discoveryv1.EndpointSlice{}, r.standbyChanged()).
		WithOptions(controllerOptions(testsAtOnce)).
		Complete(r)
}

// standbyChanged wakes the Service of a standby slice that is new, is gone, or
// publishes other endpoints. Promotion is no change: in a mass failure there is no time
// for tests.
func (r *SelfTestReconciler) standbyChanged() handler.EventHandler {
	look := func(object client.Object, q queue) {
		slice, isSlice := object.(*discoveryv1.EndpointSlice)
		if names := serviceOfSlice(object); isSlice && len(names) > 0 && protection.IsStandby(slice) {
			q.AddAfter(request(slice.Namespace, names[0]), min(firstLook, r.every))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { look(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			if !samePublished(e.ObjectOld, e.ObjectNew) {
				look(e.ObjectOld, q)
				look(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { look(e.Object, q) },
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

// Reconcile tests the standby of a Service, and says when to do so again.
func (r *SelfTestReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := req.NamespacedName
	snap, err := r.glance(ctx, key)
	if err != nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	if plan.Governor == nil || !publishes(&snap) {
		r.checks.forget(key)
		r.unconfirmed.forget(key)
		return ctrl.Result{}, nil // A slice that changes wakes it.
	}
	questions, err := r.questions(ctx, &snap)
	if err != nil {
		return fault.Result(err)
	}
	silent := r.ask(ctx, &snap, questions)
	if ctx.Err() != nil {
		return ctrl.Result{}, nil // The operator shuts down, and no server is to blame.
	}
	if len(questions) > 0 {
		r.metrics.selfTested(len(silent) == 0)
	}
	confirmed := r.confirm(key, silent)
	if len(silent) > 0 && len(confirmed) == 0 {
		return ctrl.Result{RequeueAfter: min(secondLook, r.every)}, nil
	}
	r.record(ctx, &snap, plan, summary.Check{Asked: len(questions), Silence: silenceOf(&snap, confirmed)})
	if len(confirmed) > 0 {
		return ctrl.Result{RequeueAfter: min(silentLook, r.every)}, nil
	}
	return ctrl.Result{RequeueAfter: untilTurn(r.clock.Now(), key, r.every)}, nil
}

// confirm gives those of the silent ones that were silent the last time, too.
func (r *SelfTestReconciler) confirm(key types.NamespacedName, silent []silence) []silence {
	var before map[question]bool
	if unconfirmed := r.unconfirmed.get(key); unconfirmed != nil {
		before = *unconfirmed
	}
	var confirmed []silence
	unconfirmed := map[question]bool{}
	for _, s := range silent {
		unconfirmed[s.question] = true
		if before[s.question] {
			confirmed = append(confirmed, s)
		}
	}
	if len(unconfirmed) > 0 {
		r.unconfirmed.set(key, unconfirmed)
	} else {
		r.unconfirmed.forget(key)
	}
	return confirmed
}

// record keeps what was found. If it is news, it wakes the status, and sends an event for
// a standby that fell silent, or that answers again.
func (r *SelfTestReconciler) record(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, check summary.Check) {
	key := client.ObjectKeyFromObject(snap.Service)
	was := r.checks.get(key)
	if was != nil && was.Same(&check) {
		return // The message stays: a server may word its answer differently each time.
	}
	r.checks.set(key, check)
	r.wake.matching(ctx, snap)
	wasSilent := was != nil && was.Silence != nil
	if was == nil {
		wasSilent = reportedSilent(plan.Governor, snap.Service)
	}
	switch {
	case check.Silence != nil && !wasSilent:
		r.Tell(snap.Service, plan.Governor, corev1.EventTypeWarning, criticalv2.ConditionReasonStandbySilent, "TestFallback",
			"The standby does not answer: %s", check.Silence.Message)
	case wasSilent && check.Silence == nil && check.Asked > 0:
		r.Tell(snap.Service, plan.Governor, corev1.EventTypeNormal, criticalv2.ConditionReasonStandbyAnswers, "TestFallback",
			"The standby answers again on every port (CriticalService %q)", plan.Governor.Name)
	}
}

// reportedSilent reports whether the status already says that the standby of a Service is
// silent: an operator before this one found it.
func reportedSilent(policy *criticalv2.CriticalService, service *corev1.Service) bool {
	detail := policy.Status.DetailOf(service.Namespace, service.Name)
	return detail != nil && detail.Failover != nil && detail.Failover.Reason == criticalv2.ConditionReasonStandbySilent
}

// check is what is known of a Service's standby: nil if it is yet to be tested. Without
// self-tests, or without a standby, there is nothing to find out.
func (o *observer) check(key types.NamespacedName, snap *decide.Snapshot) *summary.Check {
	if o.untested || !publishes(snap) {
		return &summary.Check{}
	}
	return o.checks.get(key)
}

// publishes reports whether there is an endpoint to ask.
func publishes(snap *decide.Snapshot) bool {
	for i := range snap.Standby {
		if len(snap.Standby[i].Endpoints) > 0 {
			return true
		}
	}
	return false
}

// untilTurn spreads the tests of many Services evenly over the interval: each has
// a moment of its own in it, which depends on nothing but its name.
func untilTurn(now time.Time, key types.NamespacedName, every time.Duration) time.Duration {
	moment := int64(float64(every) / (1 << 32) * float64(crc32.ChecksumIEEE([]byte(key.String()))))
	past := (now.UnixNano() - moment) % int64(every)
	if past < 0 {
		past += int64(every)
	}
	wait := every - time.Duration(past)
	if wait < every/2 {
		wait += every // It was tested just now.
	}
	return wait
}
