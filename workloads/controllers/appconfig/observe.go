package appconfig

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads what the watches delivered.
	cached client.Reader
	// live reads from the API server, within bounds.
	live  client.Reader
	clock clock.PassiveClock
	// reasons are those of the conditions.
	reasons recheck.Reasons
	// searches bounds how often namespaces are searched for what is in use.
	searches *pace
}

// observe makes a Snapshot. In a settled world it reads caches only.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.clock.Now()}
	app, err := read.Existing[workloadsv2.AppConfig](ctx, o.cached, key)
	if err != nil {
		return snap, err
	}
	if app == nil || app.DeletionTimestamp != nil {
		o.reasons.Observe(key, nil, snap.Now)
		return snap, nil
	}
	snap.Ages = o.reasons.Observe(key, app.Status.Conditions, snap.Now)
	snap.AppConfig, snap.Hash = app, app.Annotations[annotationHash]
	if snap.ConfigMaps, err = o.configMaps(ctx, app); err != nil {
		return snap, err
	}
	if snap.Workloads, err = o.workloads(ctx, app); err != nil {
		return snap, err
	}
	needs := decide.NeedsOf(snap)
	if snap.Taken, err = o.taken(ctx, app, needs.Free); err != nil {
		return snap, err
	}
	if len(needs.Stale) > 0 && o.searches.allow(key.Namespace, snap.Now) {
		snap.Used, err = o.used(ctx, key.Namespace, needs.Stale)
	}
	return snap, err
}

// byAppConfig indexes what carries the label, so that a look at one AppConfig of many reads
// only what is of that one.
func byAppConfig(object client.Object) []string {
	return []string{object.GetLabels()[workloadsv2.LabelAppConfig]}
}

// labelled are the objects of the namespace that carry the name of an AppConfig.
func labelled(app *workloadsv2.AppConfig) []client.ListOption {
	return []client.ListOption{
		client.InNamespace(app.Namespace), client.MatchingFields{workloadsv2.LabelAppConfig: app.Name}, client.UnsafeDisableDeepCopy,
	}
}

// configMaps are those that the operator made. Others with the label are not counted.
func (o *observer) configMaps(ctx context.Context, app *workloadsv2.AppConfig) ([]decide.ConfigMap, error) {
	var list corev1.ConfigMapList
	if err := o.cached.List(ctx, &list, labelled(app)...); err != nil {
		return nil, err
	}
	var ours []decide.ConfigMap
	for i := range list.Items {
		if config := &list.Items[i]; render.IsOurs(config, app) {
			ours = append(ours, decide.ConfigMap{ConfigMap: config, Hash: config.Annotations[annotationHash]})
		}
	}
	return ours, nil
}

func (o *observer) workloads(ctx context.Context, app *workloadsv2.AppConfig) ([]decide.Workload, error) {
	var deployments appsv1.DeploymentList
	var sets appsv1.StatefulSetList
	if err := errors.Join(o.cached.List(ctx, &deployments, labelled(app)...), o.cached.List(ctx, &sets, labelled(app)...)); err != nil {
		return nil, err
	}
	var seen []decide.Workload
	for i := range deployments.Items {
		seen = append(seen, workloadOf(&deployments.Items[i]))
	}
	for i := range sets.Items {
		seen = append(seen, workloadOf(&sets.Items[i]))
	}
	return seen, nil
}

// taken are those of some names that ConfigMaps of others have. The cache does not know them.
func (o *observer) taken(ctx context.Context, app *workloadsv2.AppConfig, names []string) (map[string]bool, error) {
	taken := map[string]bool{}
	for _, name := range names {
		existing := &metav1.PartialObjectMetadata{}
		existing.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		err := o.live.Get(ctx, types.NamespacedName{Namespace: app.Namespace, Name: name}, existing)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, err
		case err == nil && render.IsOurs(existing, app):
			return nil, fault.WaitFor(fault.CacheBehind, fmt.Sprintf("ConfigMap %q is not in the cache yet", name))
		case err == nil && render.IsEarlier(existing, app):
			return nil, fault.WaitFor(fault.CacheBehind, fmt.Sprintf("ConfigMap %q still belongs to an earlier AppConfig of the name", name))
		case err == nil:
			taken[name] = true
		}
	}
	return taken, nil
}
