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
	"github.com/critical-service/operator/internal/protection"
)

// CacheByObject says what this kind needs of each watched kind in the watched
// namespaces (none is all) and those of templates, and drops the
// rest: only Pods of ours, and of Services, EndpointSlices and Namespaces only the
// fields that a decision reads. What the operator holds in memory grows with
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
		&corev1.Pod{}:                 {Namespaces: namespaces, Label: fallbacksOnly(), Transform: cache.TransformStripManagedFields()},
		&corev1.PodTemplate{}:         {Namespaces: withTemplates, Transform: cache.TransformStripManagedFields()},
		&corev1.Namespace{}:           {Transform: slimNamespace},
		&criticalv2.CriticalService{}: {Transform: cache.TransformStripManagedFields()},
	}
}

func fallbacksOnly() labels.Selector {
	// The key is a constant and valid, so that no error can come.
	hasLabel, _ := labels.NewRequirement(criticalv2.LabelFallbackFor, selection.Exists, nil)
	return labels.NewSelector().Add(*hasLabel)
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
	return slim, nil
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
	for i, endpoint := range slice.Endpoints {
		slim.Endpoints[i] = discoveryv1.Endpoint{
			Addresses: endpoint.Addresses, Conditions: endpoint.Conditions, TargetRef: endpoint.TargetRef, NodeName: endpoint.NodeName,
		}
	}
	return slim, nil
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
