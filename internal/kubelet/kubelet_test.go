package kubelet_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/critical-service/operator/internal/kubelet"
)

func TestWhyAContainerWaits(t *testing.T) {
	for sentence, c := range map[string]struct {
		image, reason, message string
		want                   *kubelet.Problem
	}{
		"its image cannot be pulled":        {"shop:1", "ErrImagePull", "not found", &kubelet.Problem{Kind: kubelet.Image, Text: `cannot get its image "shop:1"`, Cause: "not found"}},
		"an image of which nothing is kept": {"", "SignatureValidationFailed", "", &kubelet.Problem{Kind: kubelet.Image, Text: "cannot get its image", Cause: "SignatureValidationFailed"}},
		"what it needs is missing":          {"", "CreateContainerConfigError", `secret "own" not found`, &kubelet.Problem{Kind: kubelet.Config, Text: "cannot be created", Cause: `secret "own" not found`}},
		"its command does not exist":        {"", "RunContainerError", "", &kubelet.Problem{Kind: kubelet.Config, Text: "cannot be started", Cause: "RunContainerError"}},
		"it starts":                         {"", "ContainerCreating", "", nil},
		"it has ended":                      {"", "CrashLoopBackOff", "", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := kubelet.Waiting(&corev1.Container{Image: c.image}, &corev1.ContainerStateWaiting{Reason: c.reason, Message: c.message})
			NewWithT(t).Expect(got).To(Equal(c.want))
		})
	}
}

func TestWhyAContainerEnds(t *testing.T) {
	limited := corev1.ResourceRequirements{Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}}
	for sentence, c := range map[string]struct {
		reason string
		want   *kubelet.Problem
	}{
		"it needs more memory":       {"OOMKilled", &kubelet.Problem{Kind: kubelet.Memory, Text: "is killed again and again, because it needs more memory than its limit of 32Mi"}},
		"its command does not exist": {"StartError", &kubelet.Problem{Kind: kubelet.Config, Text: "cannot be started", Cause: "StartError"}},
		"its program ends":           {"Error", nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := kubelet.Ended(&corev1.Container{Resources: limited}, &corev1.ContainerStateTerminated{Reason: c.reason})
			NewWithT(t).Expect(got).To(Equal(c.want))
		})
	}
}
