package decide

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// isReady reports whether clients reach the engine.
func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
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
// that fails come by turns, so that the message says neither.
func imageProblem(pod *corev1.Pod) string {
	for i := range pod.Status.ContainerStatuses {
		if waiting := pod.Status.ContainerStatuses[i].State.Waiting; waiting != nil && slices.Contains(waitsForImage, waiting.Reason) {
			return "`kubectl describe pod " + pod.Name + "` has the answer of the registry"
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
			return fmt.Sprintf("Container %q ended with exit code %d (%s)", status.Name, ended.ExitCode, ended.Reason)
		}
		if waiting := status.State.Waiting; waiting != nil && !slices.Contains(waitsInEveryStart, waiting.Reason) {
			return fmt.Sprintf("Container %q waits in %s", status.Name, waiting.Reason)
		}
	}
	return ""
}
