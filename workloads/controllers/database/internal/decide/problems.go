package decide

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/kubelet"
	"github.com/critical-service/operator/internal/text/quote"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
)

// isReady reports whether clients reach the engine.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// isUp reports whether the engine is up in a Pod: it may be too busy to answer just now.
func (s *Snapshot) isUp(pod *corev1.Pod) bool {
	status := statusOf(s.Database, pod)
	return isReady(pod) || status != nil && status.State.Running != nil && status.Started != nil && *status.Started
}

// hasComeUp reports whether the engine has come up in a Pod at least once. It may be
// starting again just now.
func (s *Snapshot) hasComeUp(pod *corev1.Pod) bool {
	return s.isUp(pod) || pod.Annotations[workloadsv1.AnnotationCameUp] != ""
}

// hasPassed reports whether a trial has ended well. Containers that others put beside that
// of the engine may run on.
func (d *decision) hasPassed(trial *corev1.Pod) bool {
	status := statusOf(d.Database, trial)
	return status != nil && status.State.Terminated != nil && status.State.Terminated.ExitCode == 0
}

// statusOf is how the container of the engine is in a Pod; nil if that is not known yet.
func statusOf(d *workloadsv1.Database, pod *corev1.Pod) *corev1.ContainerStatus {
	for i := range pod.Status.ContainerStatuses {
		if pod.Status.ContainerStatuses[i].Name == string(d.Spec.Type) {
			return &pod.Status.ContainerStatuses[i]
		}
	}
	return nil
}

// unscheduled says why no node takes a Pod; empty if one did, or the scheduler has not
// looked yet.
func unscheduled(pod *corev1.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// imageProblem says why the image of the engine cannot be pulled; empty if it can. Both reasons
// of a pull that fails come by turns, so that the message is the same for both.
func (s *Snapshot) imageProblem(pod *corev1.Pod) string {
	status := statusOf(s.Database, pod)
	if status == nil || status.State.Waiting == nil {
		return ""
	}
	waiting := status.State.Waiting
	if problem := kubelet.Waiting(containerOf(s.Database, pod), waiting); problem == nil || problem.Kind != kubelet.Image {
		return ""
	}
	return quote.ImagePull(waiting.Message, "`kubectl describe pod "+pod.Name+"` has the answer of the registry")
}

// failure is why a container does not run, and the command that says more.
type failure struct {
	kind          kubelet.Kind
	says, command string
}

// failureOf says why a Pod does not run; nil if it runs, or starts in good order. The container
// of the engine comes first: others may have put more beside it.
func (s *Snapshot) failureOf(pod *corev1.Pod) *failure {
	describe, engine := "`kubectl describe pod "+pod.Name+"`", statusOf(s.Database, pod)
	if problem := whyNot(containerOf(s.Database, pod), engine); problem != nil {
		found := &failure{problem.Kind, fmt.Sprintf("Container %q %s", engine.Name, problem.Text), describe}
		if problem.Cause != "" {
			found.says += " (" + problem.Cause + ")"
		}
		if problem.Kind == "" {
			found.command = fmt.Sprintf("`kubectl logs %s -c %s`", pod.Name, engine.Name)
		}
		return found
	}
	for i := range pod.Status.ContainerStatuses {
		other := &pod.Status.ContainerStatuses[i]
		if problem := whyNot(&corev1.Container{}, other); problem != nil && other != engine {
			return &failure{"", fmt.Sprintf("Container %q, which is not of this operator, %s", other.Name, problem.Text), describe}
		}
	}
	return nil
}

// remedy says what to do about a failure of the Pod that is to run.
func (s *Snapshot) remedy(f *failure) string {
	switch {
	case f.kind == kubelet.Memory && s.Database.Spec.Pod.Resources.Limits[corev1.ResourceMemory] == "":
		return "set spec.pod.resources.limits.memory, which is empty"
	case f.kind == kubelet.Memory:
		return "raise spec.pod.resources.limits.memory"
	case f.kind == kubelet.Config:
		return "put that right; " + f.command + " says more"
	default:
		return f.command + " says more"
	}
}

// waitsInEveryStart are the reasons for which a container waits in good order.
var waitsInEveryStart = []string{"", "PodInitializing", "ContainerCreating"}

// whyNot says why a container does not run; nil if it runs, or starts in good order, or has no
// status yet. The end of its last run says more than that it waits for the next, and stays the
// same.
func whyNot(of *corev1.Container, status *corev1.ContainerStatus) *kubelet.Problem {
	if status == nil {
		return nil
	}
	waiting, ended := status.State.Waiting, status.LastTerminationState.Terminated
	if waiting != nil {
		if problem := kubelet.Waiting(of, waiting); problem != nil {
			return problem
		}
	}
	switch {
	case ended != nil && !status.Ready:
		if problem := kubelet.Ended(of, ended); problem != nil {
			return problem
		}
		return &kubelet.Problem{Text: fmt.Sprintf("ended with exit code %d", ended.ExitCode), Cause: quote.ContainerStart(ended.Message, ended.Reason)}
	case waiting != nil && !slices.Contains(waitsInEveryStart, waiting.Reason):
		return &kubelet.Problem{Kind: kubelet.Config, Text: "waits in " + waiting.Reason}
	default:
		return nil
	}
}

// containerOf is the container of the engine in a Pod; an empty one if it has none.
func containerOf(d *workloadsv1.Database, pod *corev1.Pod) *corev1.Container {
	return cmp.Or(render.ContainerOf(d, pod), &corev1.Container{})
}
