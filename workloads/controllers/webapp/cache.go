package webapp

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
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
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/render"
	"github.com/critical-service/operator/workloads/internal/metering"
)

// newCache makes a cache of this kind's own: other kinds keep something else of Pods, Services and
// Deployments, and a cache has one narrowing for each.
func newCache(mgr ctrl.Manager, options *Options) (cache.Cache, error) {
	namespaces := read.Namespaces(options.Namespaces)
	own := func(transform func(any) (any, error)) cache.ByObject {
		return cache.ByObject{Namespaces: namespaces, Label: ofWebApps, Transform: transform}
	}
	return read.NewCache(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		ByObject: map[client.Object]cache.ByObject{
			&workloadsv1.WebApp{}:                    {Namespaces: namespaces, Transform: slimWebApp},
			&autoscalingv2.HorizontalPodAutoscaler{}: {Namespaces: namespaces, Transform: slimAutoscaler},
			&workloadsv1.Database{}:                  own(slimDatabase),
			&appsv1.Deployment{}:                     own(slimDeployment),
			&policyv1.PodDisruptionBudget{}:          own(slimBudget),
			&corev1.Service{}:                        own(slimService),
			&corev1.Pod{}:                            own(slimPod),
		},
	})
}

var ofWebApps = func() labels.Selector {
	requirement, err := labels.NewRequirement(workloadsv1.LabelWebApp, selection.Exists, nil)
	if err != nil {
		panic(err) // The label is a constant.
	}
	return labels.NewSelector().Add(*requirement)
}()

// transform is a transformation of one type. A tombstone is kept as it is.
func transform[T any](slim func(*T) *T) func(any) (any, error) {
	return func(object any) (any, error) {
		if typed, is := object.(*T); is {
			return slim(typed), nil
		}
		return object, nil
	}
}

var (
	// slimWebApp keeps what the schema bounds.
	slimWebApp = transform(func(a *workloadsv1.WebApp) *workloadsv1.WebApp {
		return &workloadsv1.WebApp{ObjectMeta: read.Meta(&a.ObjectMeta), Spec: a.Spec, Status: a.Status}
	})
	slimDatabase = transform(func(d *workloadsv1.Database) *workloadsv1.Database {
		return &workloadsv1.Database{ObjectMeta: slimMeta(&d.ObjectMeta), Spec: d.Spec, Status: d.Status}
	})
	slimAutoscaler = transform(func(h *autoscalingv2.HorizontalPodAutoscaler) *autoscalingv2.HorizontalPodAutoscaler {
		target := h.Spec.ScaleTargetRef
		return &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: read.Meta(&h.ObjectMeta),
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{
				APIVersion: read.Short(target.APIVersion, maxWord), Kind: read.Short(target.Kind, maxWord), Name: read.Short(target.Name, maxWord),
			}},
		}
	})
	slimBudget = transform(func(b *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
		slim := &policyv1.PodDisruptionBudget{ObjectMeta: slimMeta(&b.ObjectMeta), Spec: b.Spec}
		if slim.Spec.Selector != nil && len(slim.Spec.Selector.MatchLabels)+len(slim.Spec.Selector.MatchExpressions) > maxFew {
			slim.Spec.Selector = nil // It is not that which is wanted, however it looks.
		}
		if slim.Spec.Size() > maxBudget {
			slim.Spec = policyv1.PodDisruptionBudgetSpec{}
		}
		return slim
	})
	slimService = transform(func(s *corev1.Service) *corev1.Service {
		slim := &corev1.Service{ObjectMeta: slimMeta(&s.ObjectMeta), Spec: corev1.ServiceSpec{Type: s.Spec.Type, Ports: s.Spec.Ports[:min(len(s.Spec.Ports), maxFew)]}}
		if len(s.Spec.Selector) <= maxFew {
			slim.Spec.Selector = s.Spec.Selector
		}
		return slim
	})
	slimPod = transform(func(p *corev1.Pod) *corev1.Pod {
		slim := &corev1.Pod{
			ObjectMeta: slimMeta(&p.ObjectMeta), Spec: corev1.PodSpec{HostNetwork: p.Spec.HostNetwork},
			Status: corev1.PodStatus{Phase: p.Status.Phase, PodIP: p.Status.PodIP, HostIP: p.Status.HostIP},
		}
		slim.Spec.Containers = slimContainers(p.Spec.Containers, render.AppContainer)
		slim.Spec.InitContainers = slimContainers(p.Spec.InitContainers, metering.ContainerName)
		slim.Status.ContainerStatuses = slimStatuses(p.Status.ContainerStatuses, render.AppContainer)
		slim.Status.InitContainerStatuses = slimStatuses(p.Status.InitContainerStatuses, metering.ContainerName)
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady || c.Type == corev1.PodScheduled {
				slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, Message: read.Short(c.Message, maxImage)})
			}
		}
		return slim
	})
	// slimDeployment keeps the spec, by which drift is found; one that is larger than what is
	// applied can be is cut down to its number of Pods, and so differs.
	slimDeployment = transform(func(d *appsv1.Deployment) *appsv1.Deployment {
		slim := &appsv1.Deployment{ObjectMeta: slimMeta(&d.ObjectMeta), Spec: d.Spec, Status: d.Status}
		slim.Annotations = read.OnlyShort(d.Annotations, workloadsv1.AnnotationApplied)
		slim.Status.Conditions = nil
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentReplicaFailure {
				slim.Status.Conditions = append(slim.Status.Conditions, appsv1.DeploymentCondition{Type: c.Type, Status: c.Status, Message: read.Short(c.Message, maxImage)})
			}
		}
		slim.Spec.Template.ManagedFields = nil
		if d.Size() > maxDeployment {
			slim.Spec = appsv1.DeploymentSpec{Replicas: d.Spec.Replicas}
		}
		return slim
	})
)

// slimContainers keeps of the containers the one of a name, with its image.
func slimContainers(all []corev1.Container, name string) []corev1.Container {
	for i := range all {
		if all[i].Name == name {
			return []corev1.Container{{Name: name, Image: read.Short(all[i].Image, maxImage)}}
		}
	}
	return nil
}

// slimStatuses keeps of the statuses that of the container of a name, with why it waits.
func slimStatuses(all []corev1.ContainerStatus, name string) []corev1.ContainerStatus {
	for i := range all {
		if all[i].Name != name {
			continue
		}
		kept := corev1.ContainerStatus{Name: name, Ready: all[i].Ready}
		if waiting := all[i].State.Waiting; waiting != nil {
			kept.State.Waiting = &corev1.ContainerStateWaiting{Reason: read.Short(waiting.Reason, maxWord), Message: read.Short(waiting.Message, maxImage)}
		}
		return []corev1.ContainerStatus{kept}
	}
	return nil
}

// maxWord, maxImage and maxFew are more than names, images and lists of what the operator makes
// have, and maxDeployment and maxBudget more bytes than such objects of its own have.
const maxWord, maxImage, maxFew, maxDeployment, maxBudget = 253, 512, 8, 32 << 10, 1 << 10

func slimMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := read.Meta(meta)
	kept.OwnerReferences = read.Owners(meta)
	kept.Labels = read.Only(meta.Labels, workloadsv1.LabelWebApp, workloadsv1.LabelManagedBy)
	return kept
}
