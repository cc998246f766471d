package diagnosis

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/kubelet"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/internal/text/quote"
)

// recently is how long something is recent that happens again at the longest after
// five minutes: the kubelet starts a container that crashes, and mounts a volume, at
// least that often.
const recently = 6 * time.Minute

// container is a container of a Pod, with what is known of it.
type container struct {
	*corev1.Container
	status corev1.ContainerStatus
	// initial is true for an init container that has to end before others begin.
	initial bool
}

// String names the container in a sentence.
func (c container) String() string {
	if c.initial {
		return "Init container " + name(c.Name)
	}
	return "Container " + name(c.Name)
}

// containersOf lists the containers of a Pod that have a status, in the order in
// which they start.
func containersOf(pod *corev1.Pod) []container {
	var all []container
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		sidecar := spec.RestartPolicy != nil && *spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
		if status, found := statusOf(pod.Status.InitContainerStatuses, spec.Name); found {
			all = append(all, container{Container: spec, status: status, initial: !sidecar})
		}
	}
	for i := range pod.Spec.Containers {
		spec := &pod.Spec.Containers[i]
		if status, found := statusOf(pod.Status.ContainerStatuses, spec.Name); found {
			all = append(all, container{Container: spec, status: status})
		}
	}
	return all
}

func statusOf(list []corev1.ContainerStatus, name string) (corev1.ContainerStatus, bool) {
	i := slices.IndexFunc(list, func(status corev1.ContainerStatus) bool { return status.Name == name })
	if i < 0 {
		return corev1.ContainerStatus{}, false
	}
	return list[i], true
}

// ofContainers is what is wrong with a container of a Pod; the first that fails
// keeps the others from starting, or says most.
func ofContainers(e *Evidence, pod *corev1.Pod) *finding {
	var weak *finding
	for _, container := range containersOf(pod) {
		found := examineContainer(e, pod, container)
		switch {
		case found == nil:
		case found.reason != criticalv2.CausePodsStarting:
			return found
		case weak == nil:
			weak = found
		}
	}
	return weak
}

func examineContainer(e *Evidence, pod *corev1.Pod, c container) *finding {
	state := c.status.State
	switch {
	case c.status.Ready:
		return nil
	case state.Waiting != nil:
		return waiting(e, pod, c)
	case state.Terminated != nil:
		return terminated(e, pod, c)
	case state.Running != nil && loops(e, c):
		return crashed(e, pod, c, c.status.LastTerminationState.Terminated)
	case state.Running != nil && c.initial:
		return found(criticalv2.CausePodsStarting, c.Name, c.String()+" of {pod} has not ended yet, and the others wait for it", "")
	default:
		return nil
	}
}

func waiting(e *Evidence, pod *corev1.Pod, c container) *finding {
	wait := c.status.State.Waiting
	problem := kubelet.Waiting(c.Container, wait)
	switch {
	case problem != nil:
		return asFinding(c, problem)
	case wait.Reason == "CrashLoopBackOff":
		return crashed(e, pod, c, c.status.LastTerminationState.Terminated)
	default:
		return nil
	}
}

// asFinding is what the kubelet says of a container as a finding.
func asFinding(c container, problem *kubelet.Problem) *finding {
	cause, subject := criticalv2.CauseContainerConfig, c.Name
	switch problem.Kind {
	case kubelet.Image:
		cause, subject = criticalv2.CauseImagePull, c.Name+" "+c.Image
	case kubelet.Memory:
		cause = criticalv2.CauseOutOfMemory
	case kubelet.Config:
	}
	return found(cause, subject, c.String()+" of {pod} "+problem.Text, problem.Cause)
}

func terminated(e *Evidence, pod *corev1.Pod, c container) *finding {
	end := c.status.State.Terminated
	switch {
	case c.initial && end.ExitCode == 0:
		return nil // As it should be.
	case c.initial && pod.Spec.RestartPolicy != corev1.RestartPolicyNever, pod.Spec.RestartPolicy == corev1.RestartPolicyAlways, pod.Spec.RestartPolicy == "":
	case pod.Spec.RestartPolicy == corev1.RestartPolicyOnFailure && end.ExitCode != 0:
	default:
		return found(criticalv2.CausePodsEnded, c.Name, c.String()+" of {pod} is not restarted after it ended with ", "").endingWith(end)
	}
	if c.status.RestartCount > 0 {
		return crashed(e, pod, c, end)
	}
	return crashedOnce(c, end)
}

// crashedOnce says that a container ended for the first time: it is about to be
// started again, and may work then.
func crashedOnce(c container, end *corev1.ContainerStateTerminated) *finding {
	return found(criticalv2.CausePodsStarting, c.Name, c.String()+" of {pod} starts again after it ended with ", "").endingWith(end)
}

// loops reports whether a container that runs has ended again and again: more than
// once, not long ago, and after a short time.
func loops(e *Evidence, c container) bool {
	last := c.status.LastTerminationState.Terminated
	return last != nil && c.status.RestartCount > 1 &&
		e.Now.Sub(last.FinishedAt.Time) < recently && last.FinishedAt.Sub(last.StartedAt.Time) < recently
}

// crashed says why a container ends again and again.
func crashed(e *Evidence, pod *corev1.Pod, c container, end *corev1.ContainerStateTerminated) *finding {
	if end == nil {
		return found(criticalv2.CauseCrashLoop, c.Name, c.String()+" of {pod} ends again and again", "")
	}
	if problem := kubelet.Ended(c.Container, end); problem != nil {
		return asFinding(c, problem)
	}
	if found := killedByProbe(e, pod, c); found != nil {
		return found
	}
	return found(criticalv2.CauseCrashLoop, c.Name, c.String()+" of {pod} ends again and again, the last time with ", "").endingWith(end)
}

// endingWith adds how a container ended, and what it said then.
func (f *finding) endingWith(end *corev1.ContainerStateTerminated) *finding {
	switch {
	case end.Signal != 0:
		f.text += fmt.Sprintf("signal %d", end.Signal)
	case end.Reason != "" && end.Reason != "Error" && end.Reason != "Completed":
		f.text += fmt.Sprintf("exit code %d (%s)", end.ExitCode, quote.Line(end.Reason))
	default:
		f.text += fmt.Sprintf("exit code %d", end.ExitCode)
	}
	return f.quoting(", saying: ", quote.Program(end.Message))
}

// mountProblems are the reasons of the events that say why the containers of a Pod
// cannot even be created; progress are those that say that they can.
var (
	mountProblems = []string{"FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox"}
	progress      = []string{"Pulling", "Pulled", "Created", "Started"}
)

// mounts says what keeps the kubelet from creating the containers of a Pod. Only an event
// says so, which is repeated while it is true. Once is not enough: what a new Pod needs
// may be there a moment later.
func mounts(e *Evidence, pod *corev1.Pod) *finding {
	creating := slices.ContainsFunc(pod.Status.ContainerStatuses, func(status corev1.ContainerStatus) bool {
		wait := status.State.Waiting
		return wait != nil && (wait.Reason == "ContainerCreating" || wait.Reason == "PodInitializing")
	})
	if !creating {
		return nil
	}
	sandbox := protection.PodCondition(pod, corev1.PodReadyToStartContainers).Status
	problem := e.latest(pod.UID, func(event *eventsv1.Event) bool {
		return slices.Contains(mountProblems, event.Reason) && timesOf(event) > 1
	})
	better := e.latest(pod.UID, func(event *eventsv1.Event) bool { return slices.Contains(progress, event.Reason) })
	if problem == nil || sandbox == corev1.ConditionTrue || better != nil && lastOf(better).After(lastOf(problem)) {
		return found(criticalv2.CausePodsStarting, "", "The containers of {pod} are being created", "")
	}
	return found(criticalv2.CauseContainerConfig, "", "The containers of {pod} cannot be created", quote.Kubernetes(problem.Note))
}
