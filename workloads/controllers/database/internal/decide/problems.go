package decide

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/text/quote"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
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

// Reasons for which a container waits: in every start, and where its image is the problem.
var (
	waitsInEveryStart = []string{"", "PodInitializing", "ContainerCreating"}
	waitsForImage     = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"}
)

// imageProblem says why the image cannot be pulled; empty if it can. Both reasons of a pull
// that fails come by turns, so that the message is the same for both.
func imageProblem(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && slices.Contains(waitsForImage, waiting.Reason) {
			return quote.ImagePull(waiting.Message, "`kubectl describe pod "+pod.Name+"` has the answer of the registry")
		}
	}
	return ""
}

// containerProblem says why the container does not run; empty if it runs, or starts in good
// order. The end of its last run says more than that it waits, and stays the same.
func containerProblem(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if ended := status.LastTerminationState.Terminated; ended != nil && !status.Ready {
			return fmt.Sprintf("Container %q ended with exit code %d (%s)", status.Name, ended.ExitCode, quote.ContainerStart(ended.Message, ended.Reason))
		}
		if waiting := status.State.Waiting; waiting != nil && !slices.Contains(waitsInEveryStart, waiting.Reason) {
			return fmt.Sprintf("Container %q waits in %s", status.Name, waiting.Reason)
		}
	}
	return ""
}
