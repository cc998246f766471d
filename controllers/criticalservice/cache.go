package criticalservice

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
)

// CacheByObject says what this kind needs of each watched kind, and drops the
// rest: only fallback Pods, only the one PodTemplate, and of Services and
// EndpointSlices only the fields that a decision reads. What the operator holds
// in memory grows with Services and their endpoints, and not with Pods.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, namespace := range options.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{
		&corev1.Service{}:            {Namespaces: namespaces, Transform: slimService},
		&discoveryv1.EndpointSlice{}: {Namespaces: namespaces, Transform: slimSlice},
		&corev1.Pod{}:                {Namespaces: namespaces, Label: fallbacksOnly(), Transform: cache.TransformStripManagedFields()},
		&corev1.PodTemplate{}: {
			Namespaces: map[string]cache.Config{options.Template.Namespace: {}},
			Field:      fields.OneTermEqualSelector("metadata.name", options.Template.Name),
			Transform:  cache.TransformStripManagedFields(),
		},
		&criticalv1.CriticalService{}: {Transform: cache.TransformStripManagedFields()},
	}
}

func fallbacksOnly() labels.Selector {
	// The key is a constant and valid, so that no error can come.
	hasLabel, _ := labels.NewRequirement(criticalv1.LabelFallbackFor, selection.Exists, nil)
	return labels.NewSelector().Add(*hasLabel)
}

func slimService(object any) (any, error) {
	service, isService := object.(*corev1.Service)
	if !isService {
		return object, nil // A tombstone.
	}
	slim := &corev1.Service{
		ObjectMeta: slimMeta(service.ObjectMeta),
		Spec: corev1.ServiceSpec{
			Type: service.Spec.Type, Selector: service.Spec.Selector, Ports: service.Spec.Ports,
		},
	}
	if value, found := service.Annotations[criticalv1.AnnotationCriticalService]; found {
		slim.Annotations = map[string]string{criticalv1.AnnotationCriticalService: value}
	}
	return slim, nil
}

func slimSlice(object any) (any, error) {
	slice, isSlice := object.(*discoveryv1.EndpointSlice)
	if !isSlice {
		return object, nil
	}
	slim := &discoveryv1.EndpointSlice{
		ObjectMeta: slimMeta(slice.ObjectMeta), AddressType: slice.AddressType, Ports: slice.Ports,
		Endpoints: make([]discoveryv1.Endpoint, len(slice.Endpoints)),
	}
	for i, endpoint := range slice.Endpoints {
		slim.Endpoints[i] = discoveryv1.Endpoint{Conditions: endpoint.Conditions, TargetRef: endpoint.TargetRef}
	}
	return slim, nil
}

func slimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		Generation: meta.Generation, Labels: meta.Labels,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
	}
}
