package observe

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// Without are kinds that are not watched.
type Without struct {
	// Tenants are those who write ServiceFallbacks, and Templates are PodTemplates.
	Tenants, Templates bool
}

// CacheByObject says what this kind needs of each watched kind in the watched
// namespaces (none is all) and those of templates, and drops the
// rest: only Pods of ours, and of them, of Services, EndpointSlices and Namespaces only
// the fields that a decision reads; of PodTemplates only that they exist, and their
// version. What the operator holds in memory grows with
// Services and their endpoints, and not with Pods.
func CacheByObject(watched []string, without Without, templates ...string) map[client.Object]cache.ByObject {
	namespaces := read.Namespaces(watched)
	withTemplates := namespaces
	if len(namespaces) > 0 {
		withTemplates = read.Namespaces(slices.Concat(watched, templates))
	}
	kinds := map[client.Object]cache.ByObject{
		&corev1.Service{}:             {Namespaces: namespaces, Transform: transform(slimService)},
		&discoveryv1.EndpointSlice{}:  {Namespaces: namespaces, Transform: transform(slimSlice)},
		&corev1.Pod{}:                 {Namespaces: namespaces, Label: fallbacksOnly(), Transform: transform(slimPod)},
		&corev1.Namespace{}:           {Transform: transform(slimNamespace)},
		&criticalv2.CriticalService{}: {Transform: cache.TransformStripManagedFields()},
	}
	if !without.Templates {
		kinds[templateMetadata()] = cache.ByObject{Namespaces: withTemplates, Transform: transform(slimTemplate)}
	}
	if !without.Tenants {
		kinds[&criticalv2.ServiceFallback{}] = cache.ByObject{Namespaces: namespaces, Transform: transform(slimFallback)}
	}
	return kinds
}

// transform keeps of each object of a kind what slim keeps. A cache also hands over what
// it knows of deleted objects, which stays as it is.
func transform[T any](slim func(*T) *T) toolscache.TransformFunc {
	return func(object any) (any, error) {
		if typed, isT := object.(*T); isT {
			return slim(typed), nil
		}
		return object, nil
	}
}

func fallbacksOnly() labels.Selector {
	// The key is a constant and valid, so that no error can come.
	hasLabel, _ := labels.NewRequirement(criticalv2.LabelFallbackFor, selection.Exists, nil)
	return labels.NewSelector().Add(*hasLabel)
}

// podAnnotations are those that the operator reads of its Pods.
var podAnnotations = []string{
	criticalv2.AnnotationOwned, criticalv2.AnnotationTemplate, criticalv2.AnnotationSelector, criticalv2.AnnotationReleased,
	criticalv2.AnnotationListeners, criticalv2.AnnotationContentVersion,
}

// maxPodAnnotation is more bytes than such an annotation has.
const maxPodAnnotation = 16 << 10

// maxFinalizers are those that are named where they hold a Pod.
const maxFinalizers = 4

func slimPod(pod *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{
		ObjectMeta: SlimMeta(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates,
			InitContainers: slimContainers(pod.Spec.InitContainers), Containers: slimContainers(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: short(pod.Status.Message), Conditions: slimConditions(pod.Status.Conditions), PodIP: pod.Status.PodIP, PodIPs: pod.Status.PodIPs,
			InitContainerStatuses: slimStatuses(pod.Status.InitContainerStatuses), ContainerStatuses: slimStatuses(pod.Status.ContainerStatuses),
		},
	}
	slim.OwnerReferences = pod.OwnerReferences
	slim.Finalizers = pod.Finalizers[:min(len(pod.Finalizers), maxFinalizers)]
	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found && len(value) <= maxPodAnnotation {
			metav1.SetMetaDataAnnotation(&slim.ObjectMeta, key, value)
		}
	}
	ports := 0
	for _, container := range slices.Concat(slim.Spec.InitContainers, slim.Spec.Containers) {
		ports += len(container.Ports) + portsOfContainer
	}
	if tooLarge(len(slim.Labels), ports, slim.Size()) {
		return &corev1.Pod{ObjectMeta: nameOnly(pod.ObjectMeta)}
	}
	return slim
}

// slimContainers are containers as far as they have ports.
func slimContainers(containers []corev1.Container) []corev1.Container {
	var slim []corev1.Container
	for i := range containers {
		slim = append(slim, corev1.Container{
			Name: containers[i].Name, Ports: containers[i].Ports, RestartPolicy: containers[i].RestartPolicy,
		})
	}
	return slim
}

func slimStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var slim []corev1.ContainerStatus
	for i := range statuses {
		slim = append(slim, corev1.ContainerStatus{
			Name: statuses[i].Name, Ready: statuses[i].Ready, State: slimState(statuses[i].State), LastTerminationState: slimState(statuses[i].LastTerminationState),
		})
	}
	return slim
}

func slimState(state corev1.ContainerState) corev1.ContainerState {
	state = *state.DeepCopy()
	if state.Waiting != nil {
		state.Waiting.Message = short(state.Waiting.Message)
	}
	if state.Terminated != nil {
		state.Terminated.Message = short(state.Terminated.Message)
	}
	return state
}

func slimConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	slim := slices.Clone(conditions)
	for i := range slim {
		slim[i].Message = short(slim[i].Message)
	}
	return slim
}

// maxMessage is how many bytes of a message about a Pod are kept; no status shows more.
const maxMessage = 1024

func short(message string) string { return read.Short(message, maxMessage) }

func slimService(service *corev1.Service) *corev1.Service {
	slim := &corev1.Service{
		ObjectMeta: SlimMeta(service.ObjectMeta),
		Spec: corev1.ServiceSpec{
			Type: service.Spec.Type, Selector: service.Spec.Selector, Ports: service.Spec.Ports,
			ClusterIP: service.Spec.ClusterIP, IPFamilies: service.Spec.IPFamilies,
		},
	}
	if value, found := service.Annotations[criticalv2.AnnotationCriticalService]; found {
		slim.Annotations = map[string]string{criticalv2.AnnotationCriticalService: value}
	}
	if tooLarge(len(slim.Labels)+len(slim.Spec.Selector), len(slim.Spec.Ports), slim.Size()) {
		return &corev1.Service{ObjectMeta: nameOnly(service.ObjectMeta)}
	}
	return slim
}

// What is kept of a Service or Pod has at most so many labels, ports and bytes. Kubernetes
// lets any user of a namespace write them without number, and in memory each takes several
// times its bytes. Of an object that is larger only the name is kept, so that no
// CriticalService matches it and it stands in for nothing.
const maxLabels, maxPorts, maxObject = 64, 128, 16 << 10

// portsOfContainer is how many ports take as much memory as a container.
const portsOfContainer = 8

func tooLarge(labels, ports, bytes int) bool {
	return labels > maxLabels || ports > maxPorts || bytes > maxObject
}

// IsTooLarge reports whether the Pods of a PodTemplate may be too large to be known as
// fallbacks. Some labels, and half of the bytes, are for what is added to them.
func IsTooLarge(template *corev1.PodTemplateSpec) bool {
	const added = 16
	pod := slimPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec})
	return len(pod.Spec.Containers) == 0 || len(pod.Labels) > maxLabels-added || pod.Size() > maxObject/2
}

// slimFallback keeps the spec of a ServiceFallback if it is not too large, and the status,
// which only the operator writes.
func slimFallback(fallback *criticalv2.ServiceFallback) *criticalv2.ServiceFallback {
	slim := &criticalv2.ServiceFallback{ObjectMeta: SlimMeta(fallback.ObjectMeta), Status: fallback.Status}
	slim.Labels = nil
	// API types always marshal.
	if spec, _ := json.Marshal(&fallback.Spec); len(spec) <= maxObject {
		slim.Spec = fallback.Spec
	}
	return slim
}

// nameOnly is what is kept of the metadata of an object that is too large.
func nameOnly(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}

func slimSlice(slice *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	if protection.IsStandby(slice) {
		slice.ManagedFields = nil
		return slice
	}
	slim := &discoveryv1.EndpointSlice{
		ObjectMeta: SlimMeta(slice.ObjectMeta), AddressType: slice.AddressType, Ports: slice.Ports,
		Endpoints: make([]discoveryv1.Endpoint, len(slice.Endpoints)),
	}
	// Kubernetes copies all labels and ports of the Service.
	slim.Labels = read.Only(slice.Labels, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy)
	if len(slim.Ports) > maxPorts {
		slim.Ports = []discoveryv1.EndpointPort{}
	}
	for i, endpoint := range slice.Endpoints {
		slim.Endpoints[i] = discoveryv1.Endpoint{
			Addresses: endpoint.Addresses, Conditions: endpoint.Conditions, TargetRef: endpoint.TargetRef, NodeName: endpoint.NodeName,
		}
	}
	return slim
}

// templateMetadata is the form in which PodTemplates are watched: what they say never
// arrives.
func templateMetadata() *metav1.PartialObjectMetadata {
	template := &metav1.PartialObjectMetadata{}
	template.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodTemplate"))
	return template
}

func slimTemplate(template *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: template.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: template.Name, Namespace: template.Namespace, UID: template.UID, ResourceVersion: template.ResourceVersion,
	}}
}

func slimNamespace(namespace *corev1.Namespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: SlimMeta(namespace.ObjectMeta)}
}

// SlimMeta is what of the metadata of an object a decision may read.
func SlimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	kept := read.Meta(&meta)
	kept.Labels = meta.Labels
	return kept
}
