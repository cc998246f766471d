package operator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
)

func TestTheImageOfResponders(t *testing.T) {
	g := NewWithT(t)
	for name, containers := range map[string][]corev1.Container{
		"operator-abc": {{Name: "sidecar", Image: "mesh:1"}, {Name: "manager", Image: "quay.io/critical-service/operator:dev"}},
		"renamed":      {{Name: "main", Image: "quay.io/critical-service/operator:dev"}},
	} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: name},
			Spec:       corev1.PodSpec{Containers: containers},
		}
		for i := range containers {
			containers[i].SecurityContext = restricted()
		}
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		g.Expect(admin.Create(t.Context(), pod)).To(Succeed())
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())

	for sentence, test := range map[string]struct {
		given settings.Settings
		want  string
	}{
		"is the operator's own":                {settings.Settings{PodName: "operator-abc"}, "quay.io/critical-service/operator:dev"},
		"or the one that is set":               {settings.Settings{PodName: "operator-abc", ResponderImage: "example.com/own:1"}, "example.com/own:1"},
		"is not known outside of a cluster":    {settings.Settings{}, ""},
		"is not known if the Pod is not there": {settings.Settings{PodName: "missing"}, ""},
		"is not known of another container":    {settings.Settings{PodName: "renamed"}, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			test.given.OperatorNamespace = operatorNamespace
			image, err := operator.ResponderImage(t.Context(), config, &test.given)
			g.Expect(err).NotTo(HaveOccurred(), "a fallback that is no page needs no responder")
			g.Expect(image).To(Equal(test.want))
		})
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
