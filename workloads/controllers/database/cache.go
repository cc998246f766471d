package database

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// CacheByObject says what is kept of each kind that is watched: Databases, and of Pods,
// Services and claims those that carry the operator's label. Users of any namespace can
// write it, so that only what decisions read is kept. Secrets are not watched at all.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, namespace := range options.Namespaces {
		namespaces[namespace] = cache.Config{}
	}
	managed := func(slim func(any) (any, error)) cache.ByObject {
		return cache.ByObject{
			Namespaces: namespaces, Transform: slim,
			Label: labels.SelectorFromSet(labels.Set{workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}),
		}
	}
	return map[client.Object]cache.ByObject{
		&workloadsv1.Database{}:         {Namespaces: namespaces, Transform: slimDatabase},
		&corev1.Pod{}:                   managed(slimPod),
		&corev1.Service{}:               managed(slimService),
		&corev1.PersistentVolumeClaim{}: managed(slimClaim),
	}
}

func slimDatabase(object any) (any, error) {
	d, isDatabase := object.(*workloadsv1.Database)
	if !isDatabase {
		return object, nil // A tombstone.
	}
	return &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name, Namespace: d.Namespace, UID: d.UID, ResourceVersion: d.ResourceVersion, Generation: d.Generation,
			CreationTimestamp: d.CreationTimestamp, DeletionTimestamp: d.DeletionTimestamp,
		},
		Spec: d.Spec, Status: d.Status,
	}, nil
}

func slimPod(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: slimMeta(&pod.ObjectMeta),
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions, ContainerStatuses: pod.Status.ContainerStatuses},
	}
	for i := range pod.Spec.Containers {
		slim.Spec.Containers = append(slim.Spec.Containers, corev1.Container{
			Name: pod.Spec.Containers[i].Name, Image: pod.Spec.Containers[i].Image, Resources: pod.Spec.Containers[i].Resources,
		})
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			slim.Spec.Volumes = append(slim.Spec.Volumes, corev1.Volume{
				Name: pod.Spec.Volumes[i].Name, VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: claim},
			})
		}
	}
	return slim, nil
}

func slimService(object any) (any, error) {
	service, isService := object.(*corev1.Service)
	if !isService {
		return object, nil
	}
	return &corev1.Service{ObjectMeta: slimMeta(&service.ObjectMeta), Spec: service.Spec}, nil
}

func slimClaim(object any) (any, error) {
	claim, isClaim := object.(*corev1.PersistentVolumeClaim)
	if !isClaim {
		return object, nil
	}
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: slimMeta(&claim.ObjectMeta),
		Spec:       corev1.PersistentVolumeClaimSpec{Resources: claim.Spec.Resources, VolumeName: claim.Spec.VolumeName},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase},
	}, nil
}

// slimMeta is what is kept of the metadata of objects that others may write as well.
func slimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
		Finalizers: meta.Finalizers, OwnerReferences: meta.OwnerReferences,
		Labels:      read.Only(meta.Labels, workloadsv1.LabelApp, workloadsv1.LabelDatabase, workloadsv1.LabelTrial, workloadsv1.LabelManagedBy),
		Annotations: read.Only(meta.Annotations, workloadsv1.AnnotationSpec, workloadsv1.AnnotationImage, workloadsv1.AnnotationEngine),
	}
}
