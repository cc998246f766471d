// Package selftest asks the standby of each Service for an answer before it is needed.
// Its key is the Service.
package selftest

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
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
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

// Reconciler asks the standby of one Service per key for an answer, from
// inside the cluster, as long as nobody needs it. It changes nothing: what it
// found the status controller says.
type Reconciler struct {
	observe.Observer
	events.Announcer
	// Wake wakes the status of CriticalServices.
	Wake    wake.Status
	Metrics *metrics.Counters
	// Every is how often each standby is tested.
	Every time.Duration
	// Dial opens connections; nil is the network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// unconfirmed are, by Service, the questions that had no answer when last asked.
	unconfirmed *memory.Answers[map[question]bool]
}

// Setup adds the controller to the manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	r.unconfirmed = memory.NewAnswers[map[question]bool]()
	return ctrl.NewControllerManagedBy(mgr).
		Named("self-test").
		Watches(&discoveryv1.EndpointSlice{}, r.standbyChanged()).
		WithOptions(wake.Options(testsAtOnce)).
		Complete(r)
}

// standbyChanged wakes the Service of a standby slice that is new, is gone, or
// publishes other endpoints. Promotion is no change: in a mass failure there is no time
// for tests.
func (r *Reconciler) standbyChanged() handler.EventHandler {
	look := func(object client.Object, q wake.Queue) {
		slice, isSlice := object.(*discoveryv1.EndpointSlice)
		if names := observe.ServiceOfSlice(object); isSlice && len(names) > 0 && protection.IsStandby(slice) {
			q.AddAfter(wake.Request(slice.Namespace, names[0]), min(firstLook, r.Every))
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q wake.Queue) { look(e.Object, q) },
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q wake.Queue) {
			if !samePublished(e.ObjectOld, e.ObjectNew) {
				look(e.ObjectOld, q)
				look(e.ObjectNew, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q wake.Queue) { look(e.Object, q) },
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
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := req.NamespacedName
	snap, err := r.ObserveCached(ctx, key)
	if err != nil {
		return fault.Result(err)
	}
	plan := decide.Decide(snap)
	if plan.Governor == nil || !observe.Publishes(&snap) {
		r.Checks.Forget(key)
		r.unconfirmed.Forget(key)
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
		r.Metrics.SelfTested(len(silent) == 0)
	}
	confirmed := r.confirm(key, silent)
	if len(silent) > 0 && len(confirmed) == 0 {
		return ctrl.Result{RequeueAfter: min(secondLook, r.Every)}, nil
	}
	r.record(ctx, &snap, plan, summary.Check{Asked: len(questions), Silence: silenceOf(&snap, confirmed)})
	if len(confirmed) > 0 {
		return ctrl.Result{RequeueAfter: min(silentLook, r.Every)}, nil
	}
	return ctrl.Result{RequeueAfter: untilTurn(r.Clock.Now(), key, r.Every)}, nil
}

// confirm gives those of the silent ones that were silent the last time, too.
func (r *Reconciler) confirm(key types.NamespacedName, silent []silence) []silence {
	var before map[question]bool
	if unconfirmed := r.unconfirmed.Get(key); unconfirmed != nil {
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
		r.unconfirmed.Set(key, unconfirmed)
	} else {
		r.unconfirmed.Forget(key)
	}
	return confirmed
}

// record keeps what was found. If it is news, it wakes the status, and sends an event for
// a standby that fell silent, or that answers again.
func (r *Reconciler) record(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, check summary.Check) {
	key := client.ObjectKeyFromObject(snap.Service)
	was := r.Checks.Get(key)
	if was != nil && was.Same(&check) {
		return // The message stays: a server may word its answer differently each time.
	}
	r.Checks.Set(key, check)
	r.Wake.Matching(ctx, snap)
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
