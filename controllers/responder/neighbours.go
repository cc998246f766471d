package responder

import (
	"context"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
)

// decide makes the plan. One that depends on other namespaces is made again knowing
// them, and for one namespace at a time: so two never choose the same.
func (r *Reconciler) decide(ctx context.Context, snap *decide.Snapshot) (decide.Plan, error) {
	plan := decide.Decide(*snap)
	r.versions.mu.Lock()
	defer r.versions.mu.Unlock()
	delete(r.versions.intended, snap.Namespace)
	if !plan.AsksNeighbours {
		r.waiting.Delete(snap.Namespace)
		return plan, nil
	}
	// It counts as waiting before it looks, so that it misses no change.
	r.waiting.Set(snap.Namespace, struct{}{})
	neighbours, err := r.neighbours(ctx, snap.Namespace, snap.Now)
	if err != nil {
		return plan, err
	}
	r.versions.complete(neighbours, snap.Namespace, plan.Version, snap.Now)
	snap.Neighbours = slices.Collect(maps.Values(neighbours))
	plan = decide.Decide(*snap)
	if plan.Wait == nil {
		r.waiting.Delete(snap.Namespace)
	}
	if plan.Deployment != nil {
		r.versions.intend(plan.Deployment, snap.Now)
	}
	return plan, nil
}

// neighbours are the responders of other namespaces, as the cache has them.
func (o *observer) neighbours(ctx context.Context, namespace string, now time.Time) (map[string]decide.Neighbour, error) {
	var deployments appsv1.DeploymentList
	err := o.cached.List(ctx, &deployments, client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderServer}, client.UnsafeDisableDeepCopy)
	neighbours := map[string]decide.Neighbour{}
	for i := range deployments.Items {
		deployment := &deployments.Items[i]
		if deployment.Name == criticalv2.ResponderName && deployment.Namespace != namespace && deployment.DeletionTimestamp == nil {
			neighbours[deployment.Namespace] = decide.NeighbourOf(deployment, now)
		}
	}
	return neighbours, err
}
