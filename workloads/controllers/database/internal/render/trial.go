package render

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/engine"
)

// enough is what it takes to print a version.
var enough = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")}

// Trial tries out, beside the Pod that runs, whether the next Pod could: it is that Pod
// without the data, and prints the version of its engine. No Service selects it. It ends
// well if the node can pull the image and run the engine.
func Trial(d *workloadsv1.Database, image string, runs *corev1.Pod) *corev1.Pod {
	made := Pod(d, image)
	made.Name = d.TrialName()
	made.Labels = map[string]string{workloadsv1.LabelTrial: d.Name, workloadsv1.LabelManagedBy: workloadsv1.ManagedBy}
	next := &made.Spec.Containers[0]
	made.Spec.Containers = []corev1.Container{{
		Name: next.Name, Image: next.Image, Command: engine.Of(d.Spec.Type).Version,
		Resources: room(next.Resources, requestsOf(d, runs)), SecurityContext: next.SecurityContext,
	}}
	made.Spec.Volumes = nil
	// kubelet repeats what fails, less and less often: a failure may pass.
	made.Spec.RestartPolicy = corev1.RestartPolicyOnFailure
	made.Spec.TerminationGracePeriodSeconds = new(int64(1))
	// The name of the Pod may be too long for one.
	made.Spec.Hostname = "trial"
	made.Spec.Affinity = beside(d)
	return made
}

// beside prefers the node of the Pod that runs: that is where a volume may keep the next
// one, and the image is there already when the Pod is replaced.
func beside(d *workloadsv1.Database) *corev1.Affinity {
	return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100, PodAffinityTerm: corev1.PodAffinityTerm{
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{workloadsv1.LabelDatabase: d.Name}},
				TopologyKey:   corev1.LabelHostname,
			},
		}},
	}}
}

// room is what a trial asks for: what the next Pod needs beyond what the running one leaves
// to it, and at least what the trial takes itself. A node need not have room for both.
func room(wants corev1.ResourceRequirements, left corev1.ResourceList) corev1.ResourceRequirements {
	requests := maps.Clone(wants.Limits) // By default, what is limited is requested as well.
	if requests == nil {
		requests = corev1.ResourceList{}
	}
	maps.Copy(requests, wants.Requests)
	made := corev1.ResourceRequirements{}
	for name, wanted := range requests {
		asked := wanted.DeepCopy()
		asked.Sub(left[name])
		if least := smaller(enough[name], wanted); asked.Cmp(least) < 0 {
			asked = least
		}
		if asked.Sign() <= 0 {
			continue
		}
		made.Requests = with(made.Requests, name, asked)
		if _, limited := wants.Limits[name]; limited {
			made.Limits = with(made.Limits, name, asked)
		}
	}
	return made
}

func smaller(a, b resource.Quantity) resource.Quantity {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func with(list corev1.ResourceList, name corev1.ResourceName, quantity resource.Quantity) corev1.ResourceList {
	if list == nil {
		list = corev1.ResourceList{}
	}
	list[name] = quantity
	return list
}

// requestsOf is what the container of the engine requests in a Pod.
func requestsOf(d *workloadsv1.Database, pod *corev1.Pod) corev1.ResourceList {
	if container := ContainerOf(d, pod); container != nil {
		return container.Resources.Requests
	}
	return nil
}
