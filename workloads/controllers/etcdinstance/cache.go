package etcdinstance

import (
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// CacheByObject says what the manager's cache keeps: ETCDInstances. The objects that are made for
// them are in a cache of this kind's own, because that of the manager keeps of Pods, Services,
// claims, ConfigMaps and StatefulSets what other kinds read.
func CacheByObject(options Options) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&workloadsv1alpha1.ETCDInstance{}: {Namespaces: read.Namespaces(options.Namespaces), Transform: slimInstance},
	}
}

var hasLabel = func() labels.Selector {
	requirement, err := labels.NewRequirement(workloadsv1alpha1.LabelETCDInstance, selection.Exists, nil)
	if err != nil {
		panic(err) // The label is a constant.
	}
	return labels.NewSelector().Add(*requirement)
}()

// newCache has the objects with the label of ETCDInstances. Users of any namespace can write it,
// so that only what decisions read is kept.
func newCache(mgr ctrl.Manager, namespaces []string) (cache.Cache, error) {
	kept := func(slim func(any) (any, error)) cache.ByObject {
		return cache.ByObject{Namespaces: read.Namespaces(namespaces), Label: hasLabel, Transform: slim}
	}
	made, err := read.NewCache(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   kept(slimPod),
			&corev1.Service{}:               kept(slimService),
			&corev1.PersistentVolumeClaim{}: kept(slimClaim),
			&corev1.ConfigMap{}:             kept(slimConfig),
			&appsv1.StatefulSet{}:           kept(slimStatefulSet),
			&policyv1.PodDisruptionBudget{}: kept(slimBudget),
		},
	})
	if err == nil {
		err = mgr.Add(started{made})
	}
	if err != nil {
		return nil, fmt.Errorf("make the cache of what ETCDInstances are made of: %w", err)
	}
	return made, nil
}

// started is a cache that the manager starts with its own, before any controller and on replicas
// that do not lead as well.
type started struct{ cache.Cache }

// GetCache says so to the manager.
func (s started) GetCache() cache.Cache { return s.Cache }

// slimInstance keeps what the schema bounds.
func slimInstance(object any) (any, error) {
	e, isInstance := object.(*workloadsv1alpha1.ETCDInstance)
	if !isInstance {
		return object, nil // A tombstone.
	}
	kept := &workloadsv1alpha1.ETCDInstance{ObjectMeta: read.Meta(&e.ObjectMeta), Spec: e.Spec, Status: e.Status}
	kept.Annotations = read.OnlyShort(e.Annotations, workloadsv1alpha1.AnnotationBackup)
	if slices.Contains(e.Finalizers, workloadsv1alpha1.Finalizer) {
		kept.Finalizers = []string{workloadsv1alpha1.Finalizer}
	}
	return kept, nil
}

const (
	// maxMessage and maxReason are how many bytes of what is said about a Pod are kept.
	maxMessage, maxReason = 1024, 128
	// maxFile, maxMembers and maxSpec are more bytes than the operator writes. What has more
	// is kept without, and so differs from what is wanted.
	maxFile, maxMembers, maxSpec = 4 << 10, 4 << 10, 64 << 10
)

// slimMeta is what is kept of the metadata of objects that others may write as well.
func slimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := read.Meta(meta)
	kept.Finalizers, kept.OwnerReferences = read.Finalizers(meta), read.Owners(meta)
	kept.Labels = read.Only(meta.Labels, workloadsv1alpha1.LabelETCDInstance, render.LabelComponent, workloadsv1.LabelManagedBy)
	kept.Annotations = read.OnlyShort(meta.Annotations, workloadsv1.AnnotationSpec, render.AnnotationApplied, workloadsv1alpha1.AnnotationBackup)
	if members, found := meta.Annotations[render.AnnotationMembers]; found && len(members) <= maxMembers {
		kept.Annotations[render.AnnotationMembers] = members
	}
	return kept
}

func slimPod(object any) (any, error) {
	pod, isPod := object.(*corev1.Pod)
	if !isPod {
		return object, nil
	}
	slim := &corev1.Pod{ObjectMeta: slimMeta(&pod.ObjectMeta), Status: corev1.PodStatus{Phase: pod.Status.Phase, PodIP: pod.Status.PodIP}}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Message: read.Short(c.Message, maxMessage)})
		}
	}
	slim.Status.InitContainerStatuses = slimStatuses(pod.Status.InitContainerStatuses)
	slim.Status.ContainerStatuses = slimStatuses(pod.Status.ContainerStatuses)
	slim.Status.Reason, slim.Status.Message = read.Short(pod.Status.Reason, maxReason), read.Short(pod.Status.Message, maxMessage)
	return slim, nil
}

// slimStatuses keeps those of the containers that the operator makes, and not what is injected.
func slimStatuses(all []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range all {
		switch all[i].Name {
		case etcd.Container, render.ContainerSnapshot, render.ContainerRestore, render.ContainerFinish:
			kept = append(kept, slimStatus(&all[i]))
		}
	}
	return kept
}

func slimStatus(status *corev1.ContainerStatus) corev1.ContainerStatus {
	slim := corev1.ContainerStatus{Name: status.Name, Ready: status.Ready, RestartCount: status.RestartCount}
	if waiting := status.State.Waiting; waiting != nil {
		slim.State.Waiting = &corev1.ContainerStateWaiting{Reason: read.Short(waiting.Reason, maxReason), Message: read.Short(waiting.Message, maxMessage)}
	}
	slim.State.Running = status.State.Running
	if ended := status.State.Terminated; ended != nil {
		slim.State.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: ended.ExitCode, Reason: read.Short(ended.Reason, maxReason), Message: read.Short(ended.Message, maxMessage),
		}
	}
	if ended := status.LastTerminationState.Terminated; ended != nil {
		slim.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: ended.ExitCode, Reason: read.Short(ended.Reason, maxReason)}
	}
	return slim
}

// maxPorts and maxSelector are more than the operator's Services have.
const maxPorts, maxSelector = 4, 4

func slimService(object any) (any, error) {
	service, isService := object.(*corev1.Service)
	if !isService {
		return object, nil
	}
	slim := &corev1.Service{ObjectMeta: slimMeta(&service.ObjectMeta)}
	if len(service.Spec.Ports) <= maxPorts && len(service.Spec.Selector) <= maxSelector {
		slim.Spec = corev1.ServiceSpec{
			Type: service.Spec.Type, ClusterIP: service.Spec.ClusterIP, Selector: service.Spec.Selector,
			Ports: service.Spec.Ports, PublishNotReadyAddresses: service.Spec.PublishNotReadyAddresses,
		}
	}
	return slim, nil
}

func slimClaim(object any) (any, error) {
	claim, isClaim := object.(*corev1.PersistentVolumeClaim)
	if !isClaim {
		return object, nil
	}
	return &corev1.PersistentVolumeClaim{ObjectMeta: slimMeta(&claim.ObjectMeta)}, nil
}

func slimConfig(object any) (any, error) {
	config, isConfig := object.(*corev1.ConfigMap)
	if !isConfig {
		return object, nil
	}
	slim := &corev1.ConfigMap{ObjectMeta: slimMeta(&config.ObjectMeta), Data: map[string]string{}}
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		key := fmt.Sprintf("%s-%d.yaml", render.NameOf(config), ordinal)
		if file, found := config.Data[key]; found {
			slim.Data[key] = read.Short(file, maxFile)
		}
	}
	return slim, nil
}

func slimStatefulSet(object any) (any, error) {
	set, isStatefulSet := object.(*appsv1.StatefulSet)
	if !isStatefulSet {
		return object, nil
	}
	slim := &appsv1.StatefulSet{ObjectMeta: slimMeta(&set.ObjectMeta), Status: appsv1.StatefulSetStatus{ObservedGeneration: set.Status.ObservedGeneration}}
	// API types always marshal.
	if spec, _ := json.Marshal(&set.Spec); len(spec) <= maxSpec {
		slim.Spec = set.Spec
	}
	return slim, nil
}

func slimBudget(object any) (any, error) {
	budget, isBudget := object.(*policyv1.PodDisruptionBudget)
	if !isBudget {
		return object, nil
	}
	slim := &policyv1.PodDisruptionBudget{ObjectMeta: slimMeta(&budget.ObjectMeta)}
	if spec, _ := json.Marshal(&budget.Spec); len(spec) <= maxSpec {
		slim.Spec = budget.Spec
	}
	return slim, nil
}
