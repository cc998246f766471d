package criticalservice

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
)

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads what the watches delivered; live asks the API server.
	cached, live client.Reader
	settings     decide.Settings
	attempts     *attempts
	clock        clock.PassiveClock
}

// indexServiceOfSlice is the cache's index of EndpointSlices by their Service,
// so that one Service is looked up without a walk over its whole namespace.
const indexServiceOfSlice = "service"

func serviceOfSlice(object client.Object) []string {
	if name := object.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{name}
	}
	return nil
}

// observe makes a Snapshot from the caches. Nothing in it may be changed: it
// shares memory with them.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	return o.snapshot(ctx, o.cached, key,
		client.MatchingFields{indexServiceOfSlice: key.Name}, client.UnsafeDisableDeepCopy)
}

// observeLive makes a Snapshot from what the API server has now. It costs some
// requests, and comes before every write that takes something away.
func (o *observer) observeLive(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	return o.snapshot(ctx, o.live, key, client.MatchingLabels{discoveryv1.LabelServiceName: key.Name})
}

func (o *observer) snapshot(ctx context.Context, from client.Reader, key types.NamespacedName, slicesOf ...client.ListOption) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.clock.Now(), Settings: o.settings, Attempt: o.attempts.get(key)}

	service, template := &corev1.Service{}, &corev1.PodTemplate{}
	var err error
	if snap.Service, err = found(service, from.Get(ctx, key, service)); err != nil {
		return snap, err
	}
	if snap.Template, err = found(template, from.Get(ctx, o.settings.Template, template)); err != nil {
		return snap, err
	}

	var policies criticalv1.CriticalServiceList
	if err := from.List(ctx, &policies, client.UnsafeDisableDeepCopy); err != nil {
		return snap, err
	}
	snap.Policies = policies.Items

	var endpoints discoveryv1.EndpointSliceList
	if err := from.List(ctx, &endpoints, append(slicesOf, client.InNamespace(key.Namespace))...); err != nil {
		return snap, err
	}
	snap.Slices = endpoints.Items

	var pods corev1.PodList
	if err := from.List(ctx, &pods, client.InNamespace(key.Namespace), client.HasLabels{criticalv1.LabelFallbackFor}, client.UnsafeDisableDeepCopy); err != nil {
		return snap, err
	}
	for _, pod := range pods.Items {
		switch {
		case !render.IsFallback(&pod):
		case pod.Labels[criticalv1.LabelFallbackFor] == key.Name:
			snap.Pods = append(snap.Pods, pod)
		default:
			snap.Strangers = append(snap.Strangers, pod.UID)
		}
	}

	err = o.lookUpNamesake(ctx, &snap)
	return snap, err
}

// lookUpNamesake finds out whose Pod has the fallback's name, where something
// hints that there is one beside the known fallbacks: a slice lists it, or a
// create met it. It is a live read, because Pods that are not fallbacks are not
// in the cache, and it is not on the way to a first fallback.
func (o *observer) lookUpNamesake(ctx context.Context, snap *decide.Snapshot) error {
	if snap.Service == nil {
		return nil
	}
	nameTaken := snap.Attempt != nil && snap.Attempt.Reason == criticalv1.ReasonNameTaken
	if !nameTaken && !snap.Namesakes() {
		return nil
	}
	pod := &corev1.Pod{}
	key := types.NamespacedName{Namespace: snap.Service.Namespace, Name: snap.PodName()}
	pod, err := found(pod, o.live.Get(ctx, key, pod))
	if err != nil {
		return err
	}
	if pod != nil && !render.IsFallback(pod) {
		snap.Namesake = pod
		return nil
	}
	if pod != nil && !slices.ContainsFunc(snap.Pods, func(known corev1.Pod) bool { return known.UID == pod.UID }) {
		// A fallback that the cache does not know: it is new, or lost its label.
		snap.Pods = append(snap.Pods, *pod)
	}
	if nameTaken {
		// The name is free, or ours: the answer is out of date.
		o.attempts.forget(client.ObjectKeyFromObject(snap.Service))
		snap.Attempt = nil
	}
	return nil
}

// found turns "not found" into nil, which is how a Snapshot says it.
func found[T any](object *T, err error) (*T, error) {
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return object, nil
	}
}
