package decide

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/critical-service/operator/internal/protection"
)

// hasEnded reports whether a Pod will never run again: it was evicted, its node
// gave it up, or its containers ended and its restart policy lets them.
func hasEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
}

// preferred are the Pods that can answer and stay, or else those that are about to
// end: something that answers for a moment longer is better than nothing.
func preferred(pods []corev1.Pod) []*corev1.Pod {
	var staying, ending []*corev1.Pod
	for i := range pods {
		switch pod := &pods[i]; {
		case !protection.CanAnswer(pod) || hasEnded(pod):
		case pod.DeletionTimestamp == nil:
			staying = append(staying, pod)
		default:
			ending = append(ending, pod)
		}
	}
	if len(staying) > 0 {
		return staying
	}
	return ending
}

// startProblem says what keeps a fallback Pod from answering. It is empty while the
// Pod is starting in good order, and then left is how long it may still do so;
// 0 is until something changes.
func startProblem(pod *corev1.Pod, now time.Time) (problem string, left time.Duration) {
	if problem := podProblem(pod); problem != "" || protection.CanAnswer(pod) {
		return problem, 0
	}
	// A Pod that was ready has as long to become so again as a new one has.
	began := pod.CreationTimestamp.Time
	if since := protection.PodCondition(pod, corev1.PodReady).LastTransitionTime.Time; since.After(began) {
		began = since
	}
	if left := began.Add(startWithin).Sub(now); left > 0 {
		return "", left
	}
	if pod.Status.Phase == corev1.PodRunning {
		return "it runs and does not become ready: look at its readiness probe", 0
	}
	return "its containers have not started: `kubectl describe pod` says what they wait for (an image, a volume)", 0
}

// startingReasons are the reasons for which a container waits in every start.
var startingReasons = []string{"", "PodInitializing", "ContainerCreating"}

// podProblem says what keeps a Pod from becoming ready, and is empty while the
// Pod is merely starting.
func podProblem(pod *corev1.Pod) string {
	if scheduled := protection.PodCondition(pod, corev1.PodScheduled); scheduled.Status == corev1.ConditionFalse {
		return fmt.Sprintf("it is not scheduled (%s)", scheduled.Message)
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		// The end of the last run says more than "CrashLoopBackOff", and stays
		// the same while the container waits and runs by turns.
		if ended := status.LastTerminationState.Terminated; ended != nil && !status.Ready {
			return fmt.Sprintf("container %q ended with exit code %d (%s)", status.Name, ended.ExitCode, ended.Reason)
		}
		waiting := status.State.Waiting
		if waiting == nil || slices.Contains(startingReasons, waiting.Reason) {
			continue
		}
		text := fmt.Sprintf("container %q waits in %s", status.Name, waiting.Reason)
		if waiting.Message != "" {
			text += fmt.Sprintf(" (%s)", waiting.Message)
		}
		return text
	}
	return ""
}

// isDependable reports whether an endpoint of a backup may be relied on. A Service
// that publishes addresses that are not ready says `ready` of all of them: only
// `serving` tells them apart, and one that is ending is not for long.
func isDependable(conditions discoveryv1.EndpointConditions) bool {
	return ptr.Deref(conditions.Ready, true) && ptr.Deref(conditions.Serving, true) && !ptr.Deref(conditions.Terminating, false)
}
