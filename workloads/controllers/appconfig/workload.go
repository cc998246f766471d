package appconfig

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/text"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

const (
	// annotationManager holds, on workloads in the cache, another field manager that has set
	// what the container takes, or nothing. Like annotationHash it marks what is transformed.
	annotationManager = "manager of what the container takes"
	// maxManager is how much of a name is kept, in bytes.
	maxManager = 128

	// defaultContainer is, on a Pod, the annotation by which kubectl finds the container that
	// is meant where none is named.
	defaultContainer = "kubectl.kubernetes.io/default-container"
)

// slimWorkload keeps of a workload the container that takes the settings, what it takes, and
// whether the rollout is over.
func slimWorkload(object any) (any, error) {
	if workload, isObject := object.(client.Object); isObject && isSlim(workload, annotationManager) {
		return object, nil
	}
	switch workload := object.(type) {
	case *appsv1.Deployment:
		slim := &appsv1.Deployment{ObjectMeta: slimWorkloadMeta(&workload.ObjectMeta)}
		slim.Spec.Template = slimTemplate(workload, &workload.Spec.Template, &slim.ObjectMeta)
		status := &workload.Status
		slim.Status = appsv1.DeploymentStatus{
			ObservedGeneration: status.ObservedGeneration, Replicas: status.Replicas, UpdatedReplicas: status.UpdatedReplicas,
		}
		return slim, nil
	case *appsv1.StatefulSet:
		slim := &appsv1.StatefulSet{ObjectMeta: slimWorkloadMeta(&workload.ObjectMeta)}
		slim.Spec.Template = slimTemplate(workload, &workload.Spec.Template, &slim.ObjectMeta)
		status := &workload.Status
		slim.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: status.ObservedGeneration, Replicas: status.Replicas, UpdatedReplicas: status.UpdatedReplicas,
		}
		return slim, nil
	default:
		return object, nil // A tombstone.
	}
}

func slimWorkloadMeta(meta *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := read.Meta(meta)
	kept.Labels = read.Only(meta.Labels, workloadsv2.LabelAppConfig)
	return kept
}

// slimTemplate keeps one container, and of what it takes only what the operator may have set;
// the rest is another manager's.
func slimTemplate(workload client.Object, template *corev1.PodTemplateSpec, about *metav1.ObjectMeta) corev1.PodTemplateSpec {
	container := containerOf(template)
	slim := corev1.Container{Name: container.Name}
	manager := managerOf(workload.GetManagedFields(), container.Name)
	switch {
	case configMapOf(container) != "":
		name := read.Short(configMapOf(container), validation.DNS1123SubdomainMaxLength)
		slim.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}}
	case len(container.EnvFrom) > 0 && manager == "":
		manager = decide.UnknownManager
	}
	about.Annotations = map[string]string{annotationManager: text.Shorten(manager, maxManager)}
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{slim}}}
}

// containerOf is the container that kubectl would take: the one that an annotation names, or
// else the first.
func containerOf(template *corev1.PodTemplateSpec) *corev1.Container {
	containers := template.Spec.Containers
	named := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == template.Annotations[defaultContainer] })
	return &containers[max(named, 0)] // The API server lets no template be without a container.
}

// configMapOf is the ConfigMap whose variables a container takes, if it takes them as the
// operator would have it.
func configMapOf(container *corev1.Container) string {
	if len(container.EnvFrom) != 1 {
		return ""
	}
	only := container.EnvFrom[0]
	if only.ConfigMapRef == nil || only.ConfigMapRef.Optional != nil || only.Prefix != "" {
		return ""
	}
	return only.ConfigMapRef.Name
}

// managerOf is a field manager other than the operator that has set what a container takes.
func managerOf(managed []metav1.ManagedFieldsEntry, container string) string {
	path := []string{"f:spec", "f:template", "f:spec", "f:containers", fmt.Sprintf(`k:{"name":%q}`, container), "f:envFrom"}
	for i := range managed {
		entry := &managed[i]
		if entry.FieldsV1 == nil || entry.Manager == workloadsv1.ManagedBy && entry.Operation == metav1.ManagedFieldsOperationApply {
			continue
		}
		var fields map[string]any
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) != nil {
			continue
		}
		if _, sets, _ := unstructured.NestedFieldNoCopy(fields, path...); sets {
			return cmp.Or(entry.Manager, decide.UnknownManager) // A user may have left the name empty.
		}
	}
	return ""
}

// workloadOf is what a decision reads of a workload in the cache.
func workloadOf(object client.Object) decide.Workload {
	seen := decide.Workload{Workload: render.Workload{Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID()}}
	var template *corev1.PodTemplateSpec
	switch workload := object.(type) {
	case *appsv1.Deployment:
		status := &workload.Status
		seen.Kind, template = "Deployment", &workload.Spec.Template
		seen.RolledOut = status.ObservedGeneration >= workload.Generation && status.UpdatedReplicas == status.Replicas
	case *appsv1.StatefulSet:
		status := &workload.Status
		seen.Kind, template = "StatefulSet", &workload.Spec.Template
		seen.RolledOut = status.ObservedGeneration >= workload.Generation && status.UpdatedReplicas == status.Replicas
	}
	container := &template.Spec.Containers[0]
	seen.Container, seen.ConfigMap, seen.Manager = container.Name, configMapOf(container), object.GetAnnotations()[annotationManager]
	return seen
}
