package database

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/engine"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads what the watches delivered, and live the API server.
	cached, live client.Reader
	fallbacks    *fallback.Watch
	images       map[workloadsv1.DatabaseType]string
	clock        clock.PassiveClock
	// reasons are those of the conditions.
	reasons recheck.Reasons
}

// observe makes a Snapshot. It has no Database where that is gone, or is being deleted.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.clock.Now()}
	d, err := read.Existing[workloadsv1.Database](ctx, o.cached, key)
	if err != nil {
		return snap, err
	}
	if d == nil || d.DeletionTimestamp != nil {
		o.reasons.Observe(key, nil, snap.Now)
		return snap, nil
	}
	snap.Ages = o.reasons.Observe(key, d.Status.Conditions, snap.Now)
	snap.Database, snap.Image = d, o.images[d.Spec.Type]
	if snap.Pod, err = read.Named[corev1.Pod](ctx, o.cached, o.live, key); err != nil {
		return snap, err
	}
	if snap.Claim, err = o.claim(ctx, &snap); err != nil {
		return snap, err
	}
	if snap.Trial, err = o.trial(ctx, &snap); err != nil {
		return snap, err
	}
	if snap.Service, err = read.Named[corev1.Service](ctx, o.cached, o.live, key); err != nil {
		return snap, err
	}
	if snap.Secret, err = o.secret(ctx, d); err != nil {
		return snap, err
	}
	snap.Fallback, err = o.fallbacks.See(ctx, o.live, key)
	return snap, err
}

// trial reads what may be a trial of the next Pod. Whether another Pod has the name matters
// only where one is about to be made, which the Pod and the claim say.
func (o *observer) trial(ctx context.Context, snap *decide.Snapshot) (*corev1.Pod, error) {
	key := types.NamespacedName{Namespace: snap.Database.Namespace, Name: snap.Database.TrialName()}
	if snap.IsOutdated() {
		return read.Named[corev1.Pod](ctx, o.cached, o.live, key)
	}
	return read.Existing[corev1.Pod](ctx, o.cached, key)
}

// claim reads the claim with the data. Where the next Pod has the image that is noted on it,
// the cache is not enough.
func (o *observer) claim(ctx context.Context, snap *decide.Snapshot) (*corev1.PersistentVolumeClaim, error) {
	key := types.NamespacedName{Namespace: snap.Database.Namespace, Name: snap.Database.ClaimName()}
	switch {
	case snap.Database.Spec.Storage == nil:
		return nil, nil
	case snap.Pod == nil || snap.DependsOnClaim():
		return read.Existing[corev1.PersistentVolumeClaim](ctx, o.live, key)
	default:
		return read.Named[corev1.PersistentVolumeClaim](ctx, o.cached, o.live, key)
	}
}

// secret looks whether there are credentials. Secrets are not watched, because a watch reads
// all of them.
func (o *observer) secret(ctx context.Context, d *workloadsv1.Database) (decide.Secret, error) {
	secret, err := read.Existing[corev1.Secret](ctx, o.live, types.NamespacedName{Namespace: d.Namespace, Name: d.SecretName()})
	if err != nil || secret == nil {
		return decide.Secret{}, err
	}
	seen := decide.Secret{
		Found: true, Ours: render.IsOurs(d, secret), Earlier: render.IsEarlier(d, secret), Engine: secret.Annotations[workloadsv1.AnnotationEngine],
	}
	for _, key := range engine.Of(d.Spec.Type).Keys() {
		if len(secret.Data[key]) == 0 {
			seen.Missing = append(seen.Missing, key)
		}
	}
	return seen, nil
}
