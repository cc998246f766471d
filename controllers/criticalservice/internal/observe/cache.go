package observe

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// CacheByObject says what this kind needs of each watched kind in the watched
// namespaces (none is all) and those of templates, and drops the
// rest: only Pods of ours, and of them, of Services, EndpointSlices and Namespaces only
// the fields that a decision reads; of PodTemplates only that they exist, and their
// version. What the operator holds in memory grows with
// Services and their endpoints, and not with Pods.
func CacheByObject(watched []string, templates ...string) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, namespace := range watched {
		namespaces[namespace] = cache.Config{}
	}
	withTemplates := maps.Clone(namespaces)
	if len(namespaces) > 0 {
		for _, namespace := range templates {
			withTemplates[namespace] = cache.Config{}
		}
	}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}:             {Namespaces: namespaces, Transform: slimService},
		&discoveryv1.EndpointSlice{}:  {Namespaces: namespaces, Transform: slimSlice},
		&corev1.Pod{}:                 {Namespaces: namespaces, Label: fallbacksOnly(), Transform: slimPod},
		templateMetadata():            {Namespaces: withTemplates, Transform: slimTemplate},
		&corev1.Namespace{}:           {Transform: slimNamespace},
		&criticalv2.CriticalService{}: {Transform: cache.TransformStripManagedFields()},
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

func slimPod(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: SlimMeta(pod.ObjectMeta),
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, ReadinessGates: pod.Spec.ReadinessGates,
			InitContainers: slimContainers(pod.Spec.InitContainers), Containers: slimContainers(pod.Spec.Containers),
		},
		Status: corev1.PodStatus{
			Phase: pod.Status.Phase, Reason: pod.Status.Reason, Message: pod.Status.Message, Conditions: pod.Status.Conditions, PodIP: pod.Status.PodIP, PodIPs: pod.Status.PodIPs,
			InitContainerStatuses: slimStatuses(pod.Status.InitContainerStatuses), ContainerStatuses: slimStatuses(pod.Status.ContainerStatuses),
		},
	}
	slim.OwnerReferences = pod.OwnerReferences
	for _, key := range podAnnotations {
		if value, found := pod.Annotations[key]; found && len(value) <= maxPodAnnotation {
			metav1.SetMetaDataAnnotation(&slim.ObjectMeta, key, value)
		}
	}
	if slim.Size() > maxObject {
		return &corev1.Pod{ObjectMeta: nameOnly(pod.ObjectMeta)}, nil
	}
	return slim, nil
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
			Name: statuses[i].Name, Ready: statuses[i].Ready, State: statuses[i].State, LastTerminationState: statuses[i].LastTerminationState,
		})
	}
	return slim
}

func slimService(object any) (any, error) {
	service, isService := object.(*corev1.Service)
	if !isService {
		return object, nil // A tombstone.
	}
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
	if slim.Size() > maxObject {
		return &corev1.Service{ObjectMeta: nameOnly(service.ObjectMeta)}, nil
	}
	return slim, nil
}

// maxObject is more bytes than what is kept of a Service or Pod has that means something:
// a hundred ports, and as many labels. Kubernetes lets any user of a namespace write labels
// and ports without number. Of an object that is larger, only the name is kept, so that no
// CriticalService matches it and it stands in for nothing.
const maxObject = 16 << 10

// nameOnly is what is kept of the metadata of an object that is too large.
func nameOnly(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion}
}

func slimSlice(object any) (any, error) {
	slice, isSlice := object.(*discoveryv1.EndpointSlice)
	if !isSlice {
		return object, nil
	}
	if protection.IsStandby(slice) {
		return cache.TransformStripManagedFields()(object)
	}
	slim := &discoveryv1.EndpointSlice{
		ObjectMeta: SlimMeta(slice.ObjectMeta), AddressType: slice.AddressType, Ports: slice.Ports,
		Endpoints: make([]discoveryv1.Endpoint, len(slice.Endpoints)),
	}
	// Kubernetes copies all labels of the Service.
	slim.Labels = read.Only(slice.Labels, discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy)
	for i, endpoint := range slice.Endpoints {
		slim.Endpoints[i] = discoveryv1.Endpoint{
			Addresses: endpoint.Addresses, Conditions: endpoint.Conditions, TargetRef: endpoint.TargetRef, NodeName: endpoint.NodeName,
		}
	}
	return slim, nil
}

// templateMetadata is the form in which PodTemplates are watched: what they say never
// arrives.
func templateMetadata() *metav1.PartialObjectMetadata {
	template := &metav1.PartialObjectMetadata{}
	template.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodTemplate"))
	return template
}

func slimTemplate(object any) (any, error) {
	template, isMetadata := object.(*metav1.PartialObjectMetadata)
	if !isMetadata {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: template.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: template.Name, Namespace: template.Namespace, UID: template.UID, ResourceVersion: template.ResourceVersion,
	}}, nil
}

func slimNamespace(object any) (any, error) {
	namespace, isNamespace := object.(*corev1.Namespace)
	if !isNamespace {
		return object, nil
	}
	return &corev1.Namespace{ObjectMeta: SlimMeta(namespace.ObjectMeta)}, nil
}

// SlimMeta is what of the metadata of an object a decision may read.
func SlimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Generation: meta.Generation, Labels: meta.Labels,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
	}
}
