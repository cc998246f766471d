package webapp

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/traffic"
	"github.com/critical-service/operator/workloads/internal/fallback"
	"github.com/critical-service/operator/workloads/internal/metering"
)

// indexTarget finds the autoscalers of a Deployment or WebApp, and indexConfig the WebApps that name
// an AppConfig.
const indexTarget, indexConfig = "target", "config"

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads what the watches of this kind delivered, configs AppConfigs, and live the API
	// server.
	cached, configs, live client.Reader
	fallbacks             *fallback.Watch
	traffic               *traffic.Watch
	past                  *past
	image                 string
	clock                 clock.PassiveClock
	// reasons are those of the conditions.
	reasons recheck.Reasons
}

// observe makes a Snapshot. It has no WebApp where that is gone, or is being deleted.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.clock.Now(), MeterImage: o.image}
	app, err := read.Existing[workloadsv1.WebApp](ctx, o.cached, key)
	if err != nil {
		return snap, err
	}
	if app == nil || app.DeletionTimestamp != nil {
		o.reasons.Observe(key, nil, snap.Now)
		return snap, nil
	}
	snap.Ages = o.reasons.Observe(key, app.Status.Conditions, snap.Now)
	snap.WebApp = app
	for _, see := range []func(context.Context, types.NamespacedName, *decide.Snapshot) error{o.objects, o.pods, o.config, o.autoscaler} {
		if err := see(ctx, key, &snap); err != nil {
			return snap, err
		}
	}
	snap.Reading, snap.Memory = o.traffic.Read(key, snap.Now), o.past.of(key, app.UID)
	snap.Fallback, err = o.fallbacks.See(ctx, o.live, key)
	return snap, err
}

// objects reads those that have the names which the WebApp needs.
func (o *observer) objects(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot) error {
	var err error
	if snap.Deployment, err = read.Named[appsv1.Deployment](ctx, o.cached, o.live, key); err != nil {
		return err
	}
	if snap.Service, err = read.Named[corev1.Service](ctx, o.cached, o.live, key); err != nil {
		return err
	}
	if snap.Budget, err = read.Named[policyv1.PodDisruptionBudget](ctx, o.cached, o.live, key); err != nil {
		return err
	}
	if snap.WebApp.Spec.DBImage == "" {
		return nil
	}
	snap.Database, err = read.Named[workloadsv1.Database](ctx, o.cached, o.live, types.NamespacedName{Namespace: key.Namespace, Name: snap.WebApp.DatabaseName()})
	return err
}

// maxPods is how many Pods of one WebApp are looked at for a problem.
const maxPods = 500

func (o *observer) pods(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot) error {
	var all corev1.PodList
	err := o.cached.List(ctx, &all, client.InNamespace(key.Namespace), client.MatchingLabels(render.Selector(snap.WebApp)), client.UnsafeDisableDeepCopy)
	for i := range all.Items[:min(len(all.Items), maxPods)] {
		snap.Pods = append(snap.Pods, &all.Items[i])
	}
	return err
}

func (o *observer) config(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot) error {
	if snap.WebApp.Spec.ConfigName == "" {
		return nil
	}
	config, err := read.Existing[workloadsv2.AppConfig](ctx, o.configs, types.NamespacedName{Namespace: key.Namespace, Name: snap.WebApp.Spec.ConfigName})
	if config != nil {
		snap.Config = config.Status.ConfigMapName
	}
	return err
}

func (o *observer) autoscaler(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot) error {
	var all autoscalingv2.HorizontalPodAutoscalerList
	err := o.cached.List(ctx, &all, client.InNamespace(key.Namespace), client.MatchingFields{indexTarget: key.Name}, client.UnsafeDisableDeepCopy)
	for i := range all.Items {
		found := decide.Autoscaler{Name: all.Items[i].Name, OfDeployment: all.Items[i].Spec.ScaleTargetRef.Kind == kindDeployment}
		if has := snap.Autoscaler; has.Name == "" || found.OfDeployment && !has.OfDeployment ||
			found.OfDeployment == has.OfDeployment && found.Name < has.Name {
			snap.Autoscaler = found
		}
	}
	return err
}

// follow lets the traffic of a WebApp be read from now on, or no longer.
func (o *observer) follow(snap *decide.Snapshot, plan *decide.Plan) {
	key := client.ObjectKeyFromObject(snap.WebApp)
	o.past.keep(key, snap.WebApp.UID, plan.Memory)
	if !plan.Follow {
		o.traffic.Forget(key)
		return
	}
	target := traffic.Target{Port: metering.MetricsPort, Path: metering.MetricsPath, Metric: metering.MetricRequests}
	if own := snap.WebApp.Spec.TrafficSource; own != nil {
		target = traffic.Target{Port: own.Port, Path: own.Path, Metric: own.Metric}
	}
	o.traffic.Follow(key, snap.WebApp.UID, target)
}
