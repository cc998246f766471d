package observe

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Any user can label a Pod so that it is cached.
func TestThePodsOfOthersTakeLittleMemory(t *testing.T) {
	g := NewWithT(t)
	large := strings.Repeat("x", 200_000)
	slim, err := slimPod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs", Annotations: map[string]string{
			"example.com/notes": large, criticalv2.AnnotationSelector: large, criticalv2.AnnotationOwned: criticalv2.Owned,
		}},
		Spec: corev1.PodSpec{
			NodeName: "node-1",
			Containers: []corev1.Container{{
				Name: "app", Image: "nginx", Args: []string{large}, Env: []corev1.EnvVar{{Name: "A", Value: large}},
				Ports: []corev1.ContainerPort{{ContainerPort: 80}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}},
	})
	g.Expect(err).NotTo(HaveOccurred())
	text, err := json.Marshal(slim)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(text)).To(BeNumerically("<", 1000))
	g.Expect(slim).To(HaveField("ObjectMeta.Annotations", Equal(map[string]string{criticalv2.AnnotationOwned: criticalv2.Owned})))
	g.Expect(slim).To(HaveField("Spec.Containers", ConsistOf(HaveField("Ports", HaveLen(1)))))
	g.Expect(slim).To(HaveField("Status.PodIPs", HaveLen(1)))
}
