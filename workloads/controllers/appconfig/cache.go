package appconfig

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/read"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

// annotationHash holds, on objects in the cache, the hash of what the cache does not keep. The
// cache may transform an object twice: one with this annotation has been. No user can write it,
// because the API server accepts no key with spaces.
const annotationHash = "hash of what the cache does not keep"

// maxUID is the longest UID that is kept: those that the API server makes are shorter.
const maxUID = 64

// isSlim reports whether an object has been transformed.
func isSlim(object metav1.Object, annotation string) bool {
	_, is := object.GetAnnotations()[annotation]
	return is
}

// CacheByObject says what is kept of which objects: those of others only if they carry the
// label, and of all of them only what decisions read.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := read.Namespaces(options.Namespaces)
	labelled := func(transform func(any) (any, error)) cache.ByObject {
		return cache.ByObject{Namespaces: namespaces, Label: hasLabel, Transform: transform}
	}
	return map[client.Object]cache.ByObject{
		&workloadsv2.AppConfig{}: {Namespaces: namespaces, Transform: slimAppConfig},
		&corev1.ConfigMap{}:      labelled(slimConfigMap),
		&appsv1.Deployment{}:     labelled(slimWorkload),
		&appsv1.StatefulSet{}:    labelled(slimWorkload),
	}
}

var hasLabel = func() labels.Selector {
	requirement, err := labels.NewRequirement(workloadsv2.LabelAppConfig, selection.Exists, nil)
	if err != nil {
		panic(err) // The label is a constant.
	}
	return labels.NewSelector().Add(*requirement)
}()

func slimAppConfig(object any) (any, error) {
	app, isAppConfig := object.(*workloadsv2.AppConfig)
	if !isAppConfig || isSlim(app, annotationHash) {
		return object, nil // A tombstone, or one that comes again.
	}
	slim := &workloadsv2.AppConfig{ObjectMeta: read.Meta(&app.ObjectMeta), Spec: app.Spec, Status: app.Status}
	slim.Labels = read.Only(app.Labels, criticalv2.LabelResponder)
	slim.Spec.Configuration.Settings = nil
	slim.Annotations = map[string]string{annotationHash: render.Hash(app.Spec.Configuration.Settings)}
	if _, has := app.Annotations[workloadsv2.AnnotationVersion]; has {
		slim.Annotations[workloadsv2.AnnotationVersion] = "" // That it is there is said in the status.
	}
	return slim, nil
}

func slimConfigMap(object any) (any, error) {
	config, isConfigMap := object.(*corev1.ConfigMap)
	if !isConfigMap || isSlim(config, annotationHash) {
		return object, nil
	}
	slim := &corev1.ConfigMap{ObjectMeta: read.Meta(&config.ObjectMeta), Immutable: config.Immutable}
	slim.Labels = read.Only(config.Labels, workloadsv2.LabelAppConfig, criticalv2.LabelResponder, workloadsv1.LabelManagedBy)
	slim.Annotations = read.OnlyShort(config.Annotations, workloadsv2.AnnotationRevision, workloadsv2.AnnotationVersion)
	slim.OwnerReferences = slimOwners(&config.ObjectMeta)
	slim.Annotations[annotationHash] = ""
	if len(config.BinaryData) == 0 {
		slim.Annotations[annotationHash] = render.Hash(config.Data)
	}
	return slim, nil
}

// slimOwners keeps the controller, and of others that they are there.
func slimOwners(meta *metav1.ObjectMeta) []metav1.OwnerReference {
	slim := read.Controller(meta)
	for i := range meta.OwnerReferences {
		owner := &meta.OwnerReferences[i]
		if (owner.Controller == nil || !*owner.Controller) && len(slim) <= render.MostOwners && len(owner.UID) <= maxUID {
			slim = append(slim, metav1.OwnerReference{UID: owner.UID})
		}
	}
	return slim
}
