// Package kubelet reads what the kubelet says of a container: why it does not run. It is pure.
package kubelet

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/text/quote"
)

// Kind is what has to be changed so that a container runs.
type Kind string

// What keeps a container from running: its image, its configuration, its memory limit.
const (
	Image  Kind = "Image"
	Config Kind = "Config"
	Memory Kind = "Memory"
)

// Problem is why a container does not run.
type Problem struct {
	Kind Kind
	// Text goes on after the name of the container: "cannot be created".
	Text string
	// Cause is what the kubelet says of it, quoted; empty where Text says all.
	Cause string
}

// Reasons for which the kubelet lets a container wait.
var (
	imageReasons = []string{
		"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
		"RegistryUnavailable", "SignatureValidationFailed",
	}
	configReasons = []string{
		"CreateContainerConfigError", "CreateContainerError", "PreCreateHookError",
	}
	startReasons = []string{"RunContainerError", "PreStartHookError", "PostStartHookError"}
)

// Waiting says why a container waits that needs a change; nil if it starts in good order, or
// waits for its next start after it ended: see Ended. Of the container, what is not known may
// be empty.
func Waiting(of *corev1.Container, wait *corev1.ContainerStateWaiting) *Problem {
	switch {
	case slices.Contains(imageReasons, wait.Reason):
		named := ""
		if of.Image != "" {
			named = fmt.Sprintf(" %q", quote.Line(of.Image))
		}
		return &Problem{Image, "cannot get its image" + named, quote.ImagePull(wait.Message, wait.Reason)}
	case slices.Contains(configReasons, wait.Reason):
		return &Problem{Config, "cannot be created", quote.ContainerStart(wait.Message, wait.Reason)}
	case slices.Contains(startReasons, wait.Reason):
		return &Problem{Config, "cannot be started", quote.ContainerStart(wait.Message, wait.Reason)}
	default:
		return nil
	}
}

// Ended says why a container ends again and again that its program has not ended by itself;
// nil if that did.
func Ended(of *corev1.Container, end *corev1.ContainerStateTerminated) *Problem {
	switch end.Reason {
	case "OOMKilled":
		limit := ""
		if memory, limited := of.Resources.Limits[corev1.ResourceMemory]; limited {
			limit = " of " + memory.String()
		}
		return &Problem{Memory, "is killed again and again, because it needs more memory than its limit" + limit, ""}
	case "StartError", "ContainerCannotRun":
		return &Problem{Config, "cannot be started", quote.ContainerStart(end.Message, end.Reason)}
	default:
		return nil
	}
}
