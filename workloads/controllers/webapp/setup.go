package webapp

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/traffic"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Options are the settings of this kind.
type Options struct {
	// Image is the operator's own, which has the meter.
	Image string
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// Fallbacks follows the ServiceFallbacks, for all kinds.
	Fallbacks *fallback.Watch
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

// workers is how many WebApps are worked on at the same time. Each may wait for an admission
// webhook.
const workers = 8

// Databases are made and changed, and deleted by Kubernetes alone; so is all else but a
// PodDisruptionBudget that is not needed any more. No metrics API is read or served.
//
// +kubebuilder:rbac:groups=mycrd.com,resources=webapps,verbs=get;list;watch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=webapps/status,verbs=patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=databases,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=mycrd.com,resources=appconfigs,verbs=get;list;watch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=apps,resources=deployments/scale,verbs=patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=get;list;watch;create;patch;delete,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=list;watch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups="",resources=services,verbs=get;list;watch;create;patch,roleName=critical-service-workloads-namespaces
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch,roleName=critical-service-workloads-namespaces

// Setup adds the controller of this kind to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	recorder, err := events.NewRecorder(mgr, workloadsv1.ManagedBy)
	if err != nil {
		return err
	}
	writer, err := write.CountedAs(mgr.GetClient(), workloadsv1.ManagedBy, options.Registry)
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	own, err := newCache(mgr, &options)
	if err != nil {
		return fmt.Errorf("make the cache of WebApps: %w", err)
	}
	if err := index(ctx, own); err != nil {
		return err
	}
	readings := traffic.NewWatch(own, clock.RealClock{})
	for _, runnable := range []interface{ Start(context.Context) error }{own, readings} {
		if err := mgr.Add(runnable); err != nil {
			return fmt.Errorf("run the watches of WebApps: %w", err)
		}
	}
	r := &Reconciler{
		observer: observer{
			cached: own, configs: mgr.GetClient(), live: mgr.GetAPIReader(), fallbacks: options.Fallbacks, traffic: readings,
			past: &past{all: map[types.NamespacedName]remembered{}}, image: options.Image, clock: clock.RealClock{},
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
	}
	return watch(mgr, own, r, &options)
}

// watch says what wakes a WebApp.
func watch(mgr ctrl.Manager, own cache.Cache, r *Reconciler, options *Options) error {
	news := queue.News(func(a *workloadsv1.WebApp) { queue.Wordless(a.Status.Conditions) })
	err := ctrl.NewControllerManagedBy(mgr).
		Named("webapp").
		WatchesRawSource(source.Kind[client.Object](own, &workloadsv1.WebApp{}, &handler.EnqueueRequestForObject{}, news)).
		WatchesRawSource(source.Kind[client.Object](own, &appsv1.Deployment{}, handler.EnqueueRequestsFromMapFunc(webAppOf))).
		WatchesRawSource(source.Kind[client.Object](own, &corev1.Service{}, handler.EnqueueRequestsFromMapFunc(webAppOf))).
		WatchesRawSource(source.Kind[client.Object](own, &corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(webAppOf))).
		WatchesRawSource(source.Kind[client.Object](own, &policyv1.PodDisruptionBudget{}, handler.EnqueueRequestsFromMapFunc(webAppOf))).
		WatchesRawSource(source.Kind[client.Object](own, &workloadsv1.Database{}, handler.EnqueueRequestsFromMapFunc(webAppOf))).
		WatchesRawSource(source.Kind[client.Object](own, &autoscalingv2.HorizontalPodAutoscaler{}, handler.EnqueueRequestsFromMapFunc(targetOf))).
		Watches(&workloadsv2.AppConfig{}, handler.EnqueueRequestsFromMapFunc(usersOf(own))).
		WatchesRawSource(r.traffic.Source()).
		WatchesRawSource(options.Fallbacks.Source(workloadsv1.WebAppKind.Kind, webApps(own))).
		WithOptions(queue.Options(workers)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the webapp controller: %w", err)
	}
	return nil
}

func index(ctx context.Context, own cache.Cache) error {
	err := own.IndexField(ctx, &autoscalingv2.HorizontalPodAutoscaler{}, indexTarget, func(object client.Object) []string {
		if request := targetOf(ctx, object); len(request) > 0 {
			return []string{request[0].Name}
		}
		return nil
	})
	if err == nil {
		err = own.IndexField(ctx, &workloadsv1.WebApp{}, indexConfig, func(object client.Object) []string {
			if app, is := object.(*workloadsv1.WebApp); is && app.Spec.ConfigName != "" {
				return []string{app.Spec.ConfigName}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("index WebApps and autoscalers: %w", err)
	}
	return nil
}

// webAppOf wakes the WebApp that an object says it is of.
func webAppOf(_ context.Context, object client.Object) []reconcile.Request {
	return requestFor(object.GetNamespace(), object.GetLabels()[workloadsv1.LabelWebApp])
}

const kindDeployment = "Deployment"

// targetOf wakes the WebApp whose number of Pods an autoscaler decides: its Deployment has its name.
func targetOf(_ context.Context, object client.Object) []reconcile.Request {
	autoscaler, is := object.(*autoscalingv2.HorizontalPodAutoscaler)
	if !is {
		return nil
	}
	target := autoscaler.Spec.ScaleTargetRef
	switch schema.FromAPIVersionAndKind(target.APIVersion, target.Kind).GroupKind() {
	case schema.GroupKind{Group: appsv1.GroupName, Kind: kindDeployment}, workloadsv1.WebAppKind.GroupKind():
		return requestFor(object.GetNamespace(), target.Name)
	default:
		return nil
	}
}

func requestFor(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// usersOf wakes the WebApps that name an AppConfig.
func usersOf(own client.Reader) handler.MapFunc {
	return func(ctx context.Context, config client.Object) []reconcile.Request {
		var all workloadsv1.WebAppList
		err := own.List(ctx, &all, client.InNamespace(config.GetNamespace()), client.MatchingFields{indexConfig: config.GetName()}, client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil // The cache fails only while the operator stops or has not started.
		}
		requests := make([]reconcile.Request, 0, len(all.Items))
		for i := range all.Items {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&all.Items[i])})
		}
		return requests
	}
}

// webApps lists all of them, by name.
func webApps(own client.Reader) func(context.Context) []types.NamespacedName {
	return func(ctx context.Context) []types.NamespacedName {
		var all workloadsv1.WebAppList
		if err := own.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
			return nil
		}
		names := make([]types.NamespacedName, 0, len(all.Items))
		for i := range all.Items {
			names = append(names, client.ObjectKeyFromObject(&all.Items[i]))
		}
		return names
	}
}
