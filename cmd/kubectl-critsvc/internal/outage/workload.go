package outage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// ErrNoWorkload says that not exactly one workload that can be scaled stands behind a
// Service. What does stands in the error around it.
var ErrNoWorkload = errors.New("there is not exactly one workload that can be scaled to zero")

// Workload is the Deployment or the StatefulSet behind a Service.
type Workload struct {
	// Kind is Deployment or StatefulSet.
	Kind, Name string
	// Replicas is how many it had when it was found.
	Replicas int32
	// Notes say what may set its replicas again, or what else a user should know.
	Notes []string
	// Others are the names of the other critical Services that go down with it.
	Others []string

	object  *unstructured.Unstructured
	version string
	// scaled is when it was scaled down, or was tried to.
	scaled time.Time
}

// String names the workload in messages.
func (w *Workload) String() string { return fmt.Sprintf("%s %q", w.Kind, w.Name) }

// Owed is what is to be given back to it.
func (w *Workload) Owed() *criticalv2.WorkloadReplicas {
	if w.Kind == "StatefulSet" {
		return &criticalv2.WorkloadReplicas{StatefulSet: w.Name, Replicas: w.Replicas}
	}
	return &criticalv2.WorkloadReplicas{Deployment: w.Name, Replicas: w.Replicas}
}

// Find finds the workload behind a Service: from its Pods it follows the owners as far
// as there is one with a scale. So a Deployment is scaled, and not its ReplicaSet.
func Find(ctx context.Context, from client.Client, service *corev1.Service) (*Workload, error) {
	if len(service.Spec.Selector) == 0 {
		return nil, fmt.Errorf("the Service %q has no selector: %w", service.Name, ErrNoWorkload)
	}
	f := &finder{from: from, namespace: service.Namespace, known: map[ownerKey]*Workload{}, chains: map[ownerKey][]*unstructured.Unstructured{}}
	pods, err := f.pods(ctx, client.MatchingLabels(service.Spec.Selector))
	if err != nil {
		return nil, err
	}
	found := map[string]*Workload{}
	for i := range pods {
		workload, err := f.of(ctx, &pods[i])
		if err != nil {
			return nil, err
		}
		found[workload.Owed().String()] = workload
	}
	names := slices.Sorted(maps.Keys(found))
	switch len(names) {
	case 0:
		return nil, fmt.Errorf("no Pod of the application stands behind Service %q: %w", service.Name, ErrNoWorkload)
	case 1:
		workload := found[names[0]]
		notes, err := notesOf(ctx, from, workload)
		if err != nil {
			return nil, err
		}
		workload.Notes = append(workload.Notes, notes...)
		f.note(ctx, workload, service)
		return workload, nil
	default:
		return nil, fmt.Errorf("several workloads stand behind Service %q (%s), and it is not known which of them is meant: scale them yourself: %w",
			service.Name, strings.Join(names, ", "), ErrNoWorkload)
	}
}

// finder follows owners, each once.
type finder struct {
	from      client.Client
	namespace string
	known     map[ownerKey]*Workload
	chains    map[ownerKey][]*unstructured.Unstructured
}

// ownerKey names an owner in the namespace.
type ownerKey struct{ version, kind, name string }

func keyOf(owner *metav1.OwnerReference) ownerKey {
	return ownerKey{owner.APIVersion, owner.Kind, owner.Name}
}

// pods are Pods of the application: none of ours, and none that end.
func (f *finder) pods(ctx context.Context, options ...client.ListOption) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := f.from.List(ctx, &pods, append(options, client.InNamespace(f.namespace))...); err != nil {
		return nil, fmt.Errorf("list the Pods of namespace %q: %w", f.namespace, err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		return protection.IsOurs(&pod) || ended || pod.DeletionTimestamp != nil
	}), nil
}

// of is the workload of a Pod.
func (f *finder) of(ctx context.Context, pod *corev1.Pod) (*Workload, error) {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return nil, fmt.Errorf("the Pod %q has no controller that could be scaled: %w", pod.Name, ErrNoWorkload)
	}
	if known, found := f.known[keyOf(owner)]; found {
		return known, nil
	}
	chain, err := f.chain(ctx, owner)
	if err != nil {
		return nil, err
	}
	for i, object := range slices.Backward(chain) {
		workload, err := f.workload(ctx, object)
		if err != nil {
			return nil, err
		}
		if workload == nil {
			continue
		}
		if !isRestorable(object) {
			return nil, fmt.Errorf("%s %q, which keeps Pod %q, is neither a Deployment nor a StatefulSet, and only these are given back by the operator: "+
				"scale it yourself, after `kubectl critsvc maintenance on --scale-down=false`: %w", workload.Kind, workload.Name, pod.Name, ErrNoWorkload)
		}
		if i+1 < len(chain) {
			above := chain[i+1]
			workload.Notes = append(workload.Notes, fmt.Sprintf("%s is kept by %s %q, whose controller may set its replicas again.",
				workload, above.GetKind(), above.GetName()))
		}
		f.known[keyOf(owner)] = workload
		return workload, nil
	}
	top := chain[len(chain)-1]
	return nil, fmt.Errorf("%s %q, which keeps Pod %q, cannot be scaled: %w", top.GetKind(), top.GetName(), pod.Name, ErrNoWorkload)
}

// isRestorable reports whether a Maintenance can say of an object what it is owed.
func isRestorable(object *unstructured.Unstructured) bool {
	kind := object.GroupVersionKind()
	return kind.Group == appsv1.GroupName && (kind.Kind == "Deployment" || kind.Kind == "StatefulSet")
}

// longestChain keeps owners that own each other from being followed for ever.
const longestChain = 8

// chain are an owner, its owner, and so on. One that may not be read, or that is
// gone, ends it.
func (f *finder) chain(ctx context.Context, owner *metav1.OwnerReference) ([]*unstructured.Unstructured, error) {
	first := keyOf(owner)
	if known, found := f.chains[first]; found {
		return known, nil
	}
	var chain []*unstructured.Unstructured
	for owner != nil && len(chain) < longestChain {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind))
		object.SetNamespace(f.namespace)
		object.SetName(owner.Name)
		chain = append(chain, object)
		described := &metav1.PartialObjectMetadata{}
		described.SetGroupVersionKind(object.GroupVersionKind())
		err := f.from.Get(ctx, client.ObjectKeyFromObject(object), described)
		switch {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), meta.IsNoMatchError(err):
			owner = nil
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s %q: %w", owner.Kind, owner.Name, err)
		}
		object.SetLabels(described.Labels)
		object.SetAnnotations(described.Annotations)
		object.SetManagedFields(described.ManagedFields)
		owner = metav1.GetControllerOf(described)
	}
	f.chains[first] = chain
	return chain, nil
}

// workload reads the scale of an object; nil if it has none.
func (f *finder) workload(ctx context.Context, object *unstructured.Unstructured) (*Workload, error) {
	replicas, version, err := scaleOf(ctx, f.from, object)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err), meta.IsNoMatchError(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read the scale of %s %q: %w", object.GetKind(), object.GetName(), err)
	}
	return &Workload{Kind: object.GetKind(), Name: object.GetName(), Replicas: replicas, object: object, version: version}, nil
}

// scaleOf is how many replicas an object of any kind is to have.
func scaleOf(ctx context.Context, from client.Client, object *unstructured.Unstructured) (replicas int32, version string, err error) {
	scale := &unstructured.Unstructured{}
	scale.SetGroupVersionKind(schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"})
	if err := from.SubResource("scale").Get(ctx, object.DeepCopy(), scale); err != nil {
		return 0, "", err
	}
	count, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	return int32(min(max(count, 0), math.MaxInt32)), scale.GetResourceVersion(), err
}
