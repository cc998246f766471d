package responder

import (
	"context"
	"time"

	"golang.org/x/time/rate"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/store"
)

// Reconciler keeps the responder of one namespace per key.
type Reconciler struct {
	observer
	events.Emitter
	client client.Client
	// versions is what is known of the rollouts of namespaces besides the cache.
	versions versions
	// waiting are the namespaces that wait until others have come up with a version.
	waiting store.Map[string, struct{}]
	// resting are the namespaces about which was decided just now, until when.
	resting store.Map[string, time.Time]
	// nudges are limited: each costs Kubernetes' own controllers some of their writes,
	// which other applications need as well.
	nudges *rate.Limiter
	// live reads from the API server, before something is created or removed.
	live client.Reader
}

// nudgesPerSecond bounds the nudges of all namespaces, and is how many may come at once.
const nudgesPerSecond = 5

// restFactor is how many times longer than it took to decide about a namespace nothing more
// is decided about it: in one of 10,000 Services that is half a second, and each of them
// wakes it several times while it is armed.
const restFactor = 4

// nameRetry is when to check again whether a name conflict is over. Nothing wakes us
// then: only objects with our label are watched.
const nameRetry = time.Minute

// What the operator may write has one name, so that no other object of a
// namespace can be read by itself, changed or deleted.
//
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch;create,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=critical-service-responder,verbs=get;patch;delete,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=apps,resources=deployments,resourceNames=critical-service-responder,verbs=get;patch;delete,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,resourceNames=critical-service-responder,verbs=get;patch;delete,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch;create,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,resourceNames=critical-service-responder,verbs=get;patch;delete,roleName=critical-service-operator-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile observes the namespace, decides what its responder needs, and does it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	if until := r.resting.Get(req.Name); until != nil && time.Until(*until) > 0 {
		return ctrl.Result{RequeueAfter: time.Until(*until)}, nil
	}
	begun := time.Now()
	snap, err := r.observe(ctx, req.Name)
	if err != nil {
		return fault.Result(err)
	}
	plan, err := r.decide(ctx, &snap)
	if err != nil {
		return fault.Result(err)
	}
	rest := restFactor * time.Since(begun)
	var done outcome
	// Rollouts and drains wait for the gates, which wait for nothing that follows.
	if !plan.Remove {
		r.openGates(ctx, plan.Published, &done)
	}
	// Where nothing can be read, the plan is carried out as it is: it takes nothing away.
	again, unread := r.confirm(ctx, &snap, plan.Unconfirmed)
	if len(snap.Confirmed) > 0 {
		rest *= 2
		if plan, err = r.decide(ctx, &snap); err != nil {
			return fault.Result(err)
		}
	}
	r.apply(ctx, &snap, plan, &done)
	r.report(ctx, &snap, plan, done)
	err = fault.Join(append(done.failures, unread)...)
	if len(snap.Slices) == 0 || err != nil && fault.Of(err) != fault.Wait {
		r.resting.Delete(req.Name) // A rest would reset the back-off of the queue.
	} else {
		r.resting.Set(req.Name, time.Now().Add(rest))
	}
	if err != nil {
		return fault.Result(err)
	}
	if again {
		return ctrl.Result{RequeueAfter: fault.CacheBehind}, nil
	}
	if len(done.taken) > 0 {
		return ctrl.Result{RequeueAfter: nameRetry}, nil
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
