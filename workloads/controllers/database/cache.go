package database

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/engine"
)

// CacheByObject says what is kept of each kind that is watched: Databases, and of Pods,
// Services and claims those that carry the operator's label. Users of any namespace can
// write it, so that only what decisions read is kept. Secrets are not watched at all.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	namespaces := read.Namespaces(options.Namespaces)
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

// slimDatabase keeps what the schema bounds.
func slimDatabase(object any) (any, error) {
	d, isDatabase := object.(*workloadsv1.Database)
	if !isDatabase {
		return object, nil // A tombstone.
	}
	return &workloadsv1.Database{ObjectMeta: read.Meta(&d.ObjectMeta), Spec: d.Spec, Status: d.Status}, nil
}

// maxImage and maxName are more bytes than spec.image and the name of a volume have, and
// maxResource than the name of a resource. maxStatuses and maxRequests are more than a Pod has
// unless it is made to be large.
const maxImage, maxName, maxResource, maxStatuses, maxRequests = 512, 253, 317, 16, 16

func slimPod(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil
	}
	slim := &corev1.Pod{
		ObjectMeta: slimMeta(&pod.ObjectMeta),
		Spec:       corev1.PodSpec{NodeName: pod.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: pod.Status.Phase},
	}
	for i := range pod.Spec.Containers {
		if container := &pod.Spec.Containers[i]; engine.Of(workloadsv1.DatabaseType(container.Name)) != nil {
			slim.Spec.Containers = append(slim.Spec.Containers, corev1.Container{
				Name: container.Name, Image: read.Short(container.Image, maxImage),
				Resources: corev1.ResourceRequirements{Requests: some(container.Resources.Requests), Limits: memory(container.Resources.Limits)},
			})
		}
	}
	for i := range pod.Spec.Volumes {
		if claim := pod.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			// That there is one says enough.
			slim.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Message: read.Short(c.Message, maxMessage)})
		}
	}
	statuses := pod.Status.ContainerStatuses
	for i := range statuses[:min(len(statuses), maxStatuses)] {
		slim.Status.ContainerStatuses = append(slim.Status.ContainerStatuses, slimStatus(&statuses[i]))
	}
	return slim, nil
}

// maxMessage and maxReason are how many bytes of what is said about a Pod are kept; no status
// shows more.
const maxMessage, maxReason = 1024, 128

// some are at most as many of a container's requests as a spec has.
func some(requests corev1.ResourceList) corev1.ResourceList {
	kept := corev1.ResourceList{}
	for name, quantity := range requests {
		if len(kept) < maxRequests && len(name) <= maxResource {
			kept[name] = quantity
		}
	}
	return kept
}

// memory is the limit of memory alone: a message names it.
func memory(limits corev1.ResourceList) corev1.ResourceList {
	limit, found := limits[corev1.ResourceMemory]
	if !found {
		return nil
	}
	return corev1.ResourceList{corev1.ResourceMemory: limit}
}

// slimStatus keeps how a container is; what is said of it, of that of the engine alone.
func slimStatus(status *corev1.ContainerStatus) corev1.ContainerStatus {
	message := 0
	if engine.Of(workloadsv1.DatabaseType(status.Name)) != nil {
		message = maxMessage
	}
	return corev1.ContainerStatus{
		Name: status.Name, Ready: status.Ready, Started: status.Started,
		State: slimState(&status.State, message), LastTerminationState: slimState(&status.LastTerminationState, message),
	}
}

func slimState(state *corev1.ContainerState, message int) corev1.ContainerState {
	var slim corev1.ContainerState
	if state.Waiting != nil {
		slim.Waiting = &corev1.ContainerStateWaiting{Reason: read.Short(state.Waiting.Reason, maxReason), Message: read.Short(state.Waiting.Message, message)}
	}
	if state.Running != nil {
		slim.Running = &corev1.ContainerStateRunning{}
	}
	if ended := state.Terminated; ended != nil {
		slim.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: ended.ExitCode, Reason: read.Short(ended.Reason, maxReason), Message: read.Short(ended.Message, message),
		}
	}
	return slim
}

// maxSelector is more labels than the operator selects by.
const maxSelector = 2

func slimService(object any) (any, error) {
	service, isService := object.(*corev1.Service)
	if !isService {
		return object, nil
	}
	slim := &corev1.Service{ObjectMeta: slimMeta(&service.ObjectMeta), Spec: corev1.ServiceSpec{Type: service.Spec.Type, Selector: map[string]string{}}}
	for key, value := range service.Spec.Selector {
		if len(slim.Spec.Selector) < maxSelector || key == workloadsv1.LabelDatabase {
			slim.Spec.Selector[key] = value
		}
	}
	for i := range service.Spec.Ports {
		if engine.ListensOn(service.Spec.Ports[i].Port) {
			slim.Spec.Ports = append(slim.Spec.Ports, service.Spec.Ports[i])
		}
	}
	return slim, nil
}

func slimClaim(object any) (any, error) {
	claim, isClaim := object.(*corev1.PersistentVolumeClaim)
	if !isClaim {
		return object, nil
	}
	slim := &corev1.PersistentVolumeClaim{
		ObjectMeta: slimMeta(&claim.ObjectMeta),
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: read.Short(claim.Spec.VolumeName, maxName)},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: claim.Status.Phase},
	}
	if size, found := claim.Spec.Resources.Requests[corev1.ResourceStorage]; found {
		slim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: size}
	}
	return slim, nil
}

// slimMeta is what is kept of the metadata of objects that others may write as well.
func slimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := read.Meta(meta)
	kept.Finalizers, kept.OwnerReferences = read.Finalizers(meta), read.Owners(meta)
	kept.Labels = read.Only(meta.Labels, workloadsv1.LabelApp, workloadsv1.LabelDatabase, workloadsv1.LabelTrial, workloadsv1.LabelManagedBy)
	kept.Annotations = read.OnlyShort(meta.Annotations,
		workloadsv1.AnnotationSpec, workloadsv1.AnnotationEngine, workloadsv1.AnnotationDefaultImage, workloadsv1.AnnotationCameUp)
	if image, found := meta.Annotations[workloadsv1.AnnotationImage]; found {
		kept.Annotations[workloadsv1.AnnotationImage] = read.Short(image, maxImage)
	}
	return kept
}
