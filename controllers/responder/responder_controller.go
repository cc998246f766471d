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
	// nudges are limited: each costs Kubernetes' own controllers some of their writes,
	// which other applications need as well.
	nudges *rate.Limiter
	// live reads from the API server, before something is created or removed.
	live client.Reader
}

// nudgesPerSecond bounds the nudges of all namespaces, and is how many may come at once.
const nudgesPerSecond = 5

// nameRetry is when to check again whether a name conflict is over. Nothing wakes us
// then: only objects with our label are watched.
const nameRetry = time.Minute

// What the operator may write has one name, so that no other object of a
// namespace can be read by itself, changed or deleted.
//
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=configmaps,verbs=list;watch;create
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=critical-service-responder,verbs=get;patch;delete
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch;create
// +kubebuilder:rbac:groups=apps,resources=deployments,resourceNames=critical-service-responder,verbs=get;patch;delete
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch;create
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,resourceNames=critical-service-responder,verbs=get;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile observes the namespace, decides what its responder needs, and does it.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	snap, err := r.observe(ctx, req.Name)
	if err != nil {
		return fault.Result(err)
	}
	plan, err := r.decide(ctx, &snap)
	if err != nil {
		return fault.Result(err)
	}
	done, err := r.apply(ctx, &snap, plan)
	r.report(ctx, &snap, plan, done)
	if err != nil {
		return fault.Result(err)
	}
	if len(done.taken) > 0 {
		return ctrl.Result{RequeueAfter: nameRetry}, nil
	}
	return ctrl.Result{RequeueAfter: plan.RecheckAfter}, nil
}
