package responder

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/read"
)

// CacheByObject says what this kind needs of each kind that no other kind watches.
// Users of any namespace can write the labels, so that only what decisions read is
// kept: of the operator's own objects those of the one name, and of the content that teams
// publish only that it exists, and its version.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := read.Namespaces(options.Namespaces)
	ofOneName := cache.ByObject{
		Namespaces: namespaces, Label: labelled(criticalv2.ResponderServer),
		Field:     named(criticalv2.ResponderName),
		Transform: cache.TransformStripManagedFields(),
	}
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {
			Namespaces: namespaces, Label: labelled(criticalv2.ResponderListeners), Field: named(criticalv2.ResponderName), Transform: slimConfigMap,
		},
		contentMetadata(): {
			Namespaces: namespaces, Label: labelled(criticalv2.ResponderContent), Transform: slimContent,
		},
		&appsv1.Deployment{}:                     ofOneName,
		&policyv1.PodDisruptionBudget{}:          ofOneName,
		&autoscalingv2.HorizontalPodAutoscaler{}: ofOneName,
	}
}

// contentMetadata is the form in which content is watched: its data never arrives.
func contentMetadata() *metav1.PartialObjectMetadata {
	content := &metav1.PartialObjectMetadata{}
	content.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return content
}

func labelled(role string) labels.Selector {
	return labels.SelectorFromSet(labels.Set{criticalv2.LabelResponder: role})
}

func named(name string) fields.Selector {
	return fields.OneTermEqualSelector(metav1.ObjectNameField, name)
}

// slimConfigMap keeps the table of the responder.
func slimConfigMap(object any) (any, error) {
	config, isConfigMap := object.(*corev1.ConfigMap)
	if !isConfigMap {
		return object, nil // A tombstone.
	}
	slim := &corev1.ConfigMap{ObjectMeta: slimMeta(&config.ObjectMeta), Data: read.Only(config.Data, listener.Key)}
	slim.Labels, slim.OwnerReferences = config.Labels, config.OwnerReferences
	slim.Annotations = read.Only(config.Annotations, render.AnnotationApplied, render.AnnotationTable)
	return slim, nil
}

// asCached is an object of the operator's as the cache will have it.
func asCached(object client.Object) any {
	slim, _ := slimConfigMap(object) // No error can come.
	return slim
}

func slimContent(object any) (any, error) {
	content, isMetadata := object.(*metav1.PartialObjectMetadata)
	if !isMetadata {
		return object, nil
	}
	return &metav1.PartialObjectMetadata{TypeMeta: content.TypeMeta, ObjectMeta: slimMeta(&content.ObjectMeta)}, nil
}

// slimMeta is what is kept of the metadata of objects that are not the operator's.
func slimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := read.Meta(meta)
	kept.Labels = read.Only(meta.Labels, criticalv2.LabelResponder)
	return kept
}
