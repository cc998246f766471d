package responder

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/time/rate"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"

	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
)

// Options are the settings of this kind.
type Options struct {
	// Image of the responder, which is the operator's own; empty if it is not
	// known, and then no responder is created.
	Image string
	// ImagePullSecrets are names of Secrets in the namespaces of the responders.
	ImagePullSecrets []string
	// PriorityClass of the responder's Pods, or empty.
	PriorityClass string
	// MaxReplicas is up to how many Pods a responder scales with its load; 0 is that none scales.
	MaxReplicas int32
	// Namespaces are those that are looked at; empty is all.
	Namespaces []string
	// Registry is where metrics are registered; nil is nowhere.
	Registry prometheus.Registerer
}

// atOnce is how many namespaces are worked on at the same time. Each may wait for an
// admission webhook, or hold a table of 1 MB.
const atOnce = 8

// Setup adds the controller of this kind to the manager.
func Setup(ctx context.Context, mgr ctrl.Manager, options Options) error {
	recorder, err := events.NewRecorder(mgr, "critical-service-operator")
	if err != nil {
		return err
	}
	writer, err := write.Counted(mgr.GetClient(), options.Registry)
	if err == nil && options.Registry != nil {
		err = options.Registry.Register(newGauges(mgr.GetClient(), mgr.Elected()))
	}
	if err != nil {
		return fmt.Errorf("register metrics: %w", err)
	}
	live, err := read.Bounded(mgr, maxLive)
	if err != nil {
		return fmt.Errorf("make a reader of the API server: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, indexOfPage, indexPage); err != nil {
		return fmt.Errorf("index EndpointSlices of pages: %w", err)
	}
	r := &Reconciler{
		observer: observer{
			cached: mgr.GetClient(),
			settings: decide.Settings{
				Image: options.Image, ImagePullSecrets: options.ImagePullSecrets, PriorityClass: options.PriorityClass, MaxReplicas: options.MaxReplicas,
			},
		},
		Emitter: events.Emitter{Recorder: recorder, Scheme: mgr.GetScheme()},
		client:  writer,
		live:    live,
		nudges:  rate.NewLimiter(nudgesPerSecond, nudgesPerSecond),
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("responder").
		Watches(&discoveryv1.EndpointSlice{}, namespaceOf(), builder.WithPredicates(askingChanged)).
		Watches(&discoveryv1.EndpointSlice{}, r.publications(), builder.WithPredicates(publicationChanged)).
		Watches(&corev1.Service{}, namespaceOf(), builder.WithPredicates(portsChanged)).
		Watches(&corev1.ConfigMap{}, namespaceOf()).
		WatchesMetadata(&corev1.ConfigMap{}, namespaceOf()).
		Watches(&appsv1.Deployment{}, r.rollouts(), builder.WithPredicates(deploymentChanged)).
		Watches(&policyv1.PodDisruptionBudget{}, namespaceOf(), builder.WithPredicates(specChanged)).
		Watches(&autoscalingv2.HorizontalPodAutoscaler{}, namespaceOf(), builder.WithPredicates(autoscalerChanged)).
		Watches(&corev1.Pod{}, namespaceOf(), builder.WithPredicates(isResponder, podChanged)).
		WithOptions(queue.Options(atOnce)).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the responder controller: %w", err)
	}
	return nil
}
