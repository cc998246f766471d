package responder

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/controller/read"
)

// CacheByObject says what this kind needs of each kind that no other kind watches.
// Users of any namespace can write the labels, so that only what decisions read is
// kept: of the operator's own objects those of the one name, of maintenances their
// keys, and of the content that teams publish only that it exists, and its version.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, namespace := range options.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	ofOneName := cache.ByObject{
		Namespaces: namespaces, Label: labelled(criticalv2.ResponderServer),
		Field:     fields.OneTermEqualSelector(metav1.ObjectNameField, criticalv2.ResponderName),
		Transform: cache.TransformStripManagedFields(),
	}
	return map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {
			Namespaces: namespaces, Label: labelled(criticalv2.ResponderListeners, criticalv2.ResponderMaintenance), Transform: slimConfigMap,
		},
		contentMetadata(): {
			Namespaces: namespaces, Label: labelled(criticalv2.ResponderContent), Transform: slimContent,
		},
		&appsv1.Deployment{}:            ofOneName,
		&policyv1.PodDisruptionBudget{}: ofOneName,
	}
}

// contentMetadata is the form in which content is watched: its data never arrives.
func contentMetadata() *metav1.PartialObjectMetadata {
	content := &metav1.PartialObjectMetadata{}
	content.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return content
}

func labelled(roles ...string) labels.Selector {
	// The key and the values are constants and valid, so that no error can come.
	hasRole, _ := labels.NewRequirement(criticalv2.LabelResponder, selection.In, roles)
	return labels.NewSelector().Add(*hasRole)
}

// slimConfigMap keeps the table of the responder, and the keys of a maintenance.
func slimConfigMap(object any) (any, error) {
	config, isConfigMap := object.(*corev1.ConfigMap)
	if !isConfigMap {
		return object, nil // A tombstone.
	}
	slim := &corev1.ConfigMap{ObjectMeta: slimMeta(&config.ObjectMeta)}
	switch role := config.Labels[criticalv2.LabelResponder]; {
	case role == criticalv2.ResponderMaintenance:
		slim.Data = slimMaintenance(config.Data)
	case role == criticalv2.ResponderListeners && config.Name == criticalv2.ResponderName:
		slim.Labels, slim.OwnerReferences = config.Labels, config.OwnerReferences
		slim.Annotations = read.Only(config.Annotations, render.AnnotationApplied, render.AnnotationTable)
		slim.Data = read.Only(config.Data, listener.Key)
	}
	return slim, nil
}

// asCached is an object of the operator's as the cache will have it.
func asCached(object client.Object) any {
	slim, _ := slimConfigMap(object) // No error can come.
	return slim
}

// The keys of a maintenance, and more bytes of each than a valid value has: what is
// longer is invalid, and stays so where it is cut.
var maintenanceKeys = map[string]int{
	criticalv2.MaintenanceService:  4 * 80,
	criticalv2.MaintenanceMessage:  4 * (criticalv2.MaxMaintenanceMessage + 2),
	criticalv2.MaintenanceUntil:    4 * 40,
	criticalv2.MaintenanceAnnounce: 4 * 40,
	criticalv2.MaintenanceWorkload: 1024,
	criticalv2.MaintenanceReplicas: 4 * 40,
}

func slimMaintenance(data map[string]string) map[string]string {
	slim := map[string]string{}
	for key, most := range maintenanceKeys {
		value, found := data[key]
		if len(value) > most {
			value = strings.TrimSpace(value)
			// A copy, because a part of a text keeps all of it in memory.
			value = strings.ToValidUTF8(strings.Clone(value[:min(len(value), most)]), "")
		}
		if found {
			slim[key] = value
		}
	}
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
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
		Labels: read.Only(meta.Labels, criticalv2.LabelResponder),
	}
}
