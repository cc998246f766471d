package responder

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/store"
	"github.com/critical-service/operator/internal/protection"
)

// observer makes Snapshots. It is the only place that reads caches.
type observer struct {
	cached   client.Reader
	settings decide.Settings
	// digests are what the API server made of each object that was applied: an
	// admission webhook may change what it is given, and applying the same again and
	// again would not help. After a restart, one more write fills them.
	digests store.Map[ownObject, digest]
}

// ownObject names one of the objects that the operator keeps in a namespace: its kind
// is a Go type.
type ownObject struct{ namespace, kind string }

// digest is what was made of the object with the UID.
type digest struct {
	uid   types.UID
	value string
}

// indexOfPage is the cache's index of these slices, so that they are found without a walk
// over all slices of their namespace.
const indexOfPage = "page"

func indexPage(object client.Object) []string {
	if protection.IsOfPage(object) {
		return []string{"true"}
	}
	return nil
}

// observe makes a Snapshot from the caches. Nothing in it may be changed: it
// shares memory with them.
func (o *observer) observe(ctx context.Context, namespace string) (decide.Snapshot, error) {
	snap := decide.Snapshot{Namespace: namespace, Settings: o.settings, Now: time.Now(), Answers: map[types.UID]string{}}

	var err error
	if snap.Slices, snap.PodSlices, err = o.standbySlices(ctx, namespace); err != nil {
		return snap, err
	}
	if len(snap.Slices) > 0 {
		if err := o.services(ctx, &snap); err != nil {
			return snap, err
		}
	}
	if err := o.objects(ctx, &snap); err != nil {
		return snap, err
	}
	var contents metav1.PartialObjectMetadataList
	contents.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := o.list(ctx, namespace, &contents, criticalv2.ResponderContent); err != nil {
		return snap, err
	}
	pods, err := o.pods(ctx, namespace)
	snap.Contents, snap.Pods = contents.Items, pods
	return snap, err
}

// standbySlices are the slices of a namespace that ask for the responder, and those
// that publish its Pods.
func (o *observer) standbySlices(ctx context.Context, namespace string) (asking, ofPods []discoveryv1.EndpointSlice, err error) {
	var list discoveryv1.EndpointSliceList
	err = o.cached.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{indexOfPage: "true"}, client.UnsafeDisableDeepCopy)
	// In place, because there may be 30,000.
	all, count := list.Items, 0
	for i := range all {
		if protection.StandsFor(&all[i]) == "" {
			all[count], all[i] = all[i], all[count]
			count++
		}
	}
	return all[:count], all[count:], err
}

// pods are the responder's.
func (o *observer) pods(ctx context.Context, namespace string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := o.list(ctx, namespace, &pods, criticalv2.ResponderServer)
	return pods.Items, err
}

// services reads the Services that the slices name.
func (o *observer) services(ctx context.Context, snap *decide.Snapshot) error {
	named := make(sets.Set[string], len(snap.Slices))
	for i := range snap.Slices {
		named.Insert(snap.Slices[i].Labels[discoveryv1.LabelServiceName])
	}
	var services corev1.ServiceList
	err := o.cached.List(ctx, &services, client.InNamespace(snap.Namespace), client.UnsafeDisableDeepCopy)
	snap.Services = slices.DeleteFunc(services.Items, func(service corev1.Service) bool { return !named.Has(service.Name) })
	return err
}

// objects reads what the operator keeps in the namespace. What others made under
// the same name counts as not there; apply meets it.
func (o *observer) objects(ctx context.Context, snap *decide.Snapshot) error {
	key := types.NamespacedName{Namespace: snap.Namespace, Name: criticalv2.ResponderName}
	var err error
	if snap.Table, err = ours[corev1.ConfigMap](ctx, o.cached, key, criticalv2.ResponderListeners); err != nil {
		return err
	}
	if snap.Deployment, err = ours[appsv1.Deployment](ctx, o.cached, key, criticalv2.ResponderServer); err != nil {
		return err
	}
	if snap.Budget, err = ours[policyv1.PodDisruptionBudget](ctx, o.cached, key, criticalv2.ResponderServer); err != nil {
		return err
	}
	if snap.Autoscaler, err = ours[autoscalingv2.HorizontalPodAutoscaler](ctx, o.cached, key, criticalv2.ResponderServer); err != nil {
		return err
	}
	recall(o, snap, snap.Table)
	recall(o, snap, snap.Deployment)
	recall(o, snap, snap.Budget)
	recall(o, snap, snap.Autoscaler)
	return nil
}

// recall looks up the digest of an object. That of one that is gone is dropped.
func recall[T any, P read.Object[T]](o *observer, snap *decide.Snapshot, object P) {
	key := ownObject{snap.Namespace, fmt.Sprintf("%T", object)}
	known := o.digests.Get(key)
	switch {
	case known == nil:
	case known.uid == read.UIDOf(object):
		snap.Answers[known.uid] = known.value
	case object == nil:
		o.digests.Delete(key)
	}
}

func (o *observer) list(ctx context.Context, namespace string, list client.ObjectList, role string) error {
	return o.cached.List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{criticalv2.LabelResponder: role}, client.UnsafeDisableDeepCopy)
}

// ours reads an object of the operator's; nil if there is none, or another user's.
func ours[T any, P read.Object[T]](ctx context.Context, from client.Reader, key types.NamespacedName, role string) (P, error) {
	object, err := read.Existing[T, P](ctx, from, key)
	if err != nil || object == nil || !render.IsOurs(object, role) {
		return nil, err
	}
	return object, nil
}
