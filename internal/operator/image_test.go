package operator_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/setting"
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
		pod.Spec.SecurityContext = restrictedPod()
		borrow(t, pod)
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	g.Expect(err).NotTo(HaveOccurred())

	for sentence, test := range map[string]struct {
		given settings.Settings
		want  string
	}{
		"is the operator's own":                {settings.Settings{Manager: setting.Manager{PodName: "operator-abc"}}, "quay.io/critical-service/operator:dev"},
		"or the one that is set":               {settings.Settings{Manager: setting.Manager{PodName: "operator-abc"}, ResponderImage: "example.com/own:1"}, "example.com/own:1"},
		"is not known outside of a cluster":    {settings.Settings{}, ""},
		"is not known if the Pod is not there": {settings.Settings{Manager: setting.Manager{PodName: "missing"}}, ""},
		"is not known of another container":    {settings.Settings{Manager: setting.Manager{PodName: "renamed"}}, ""},
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

// An operator that starts while the API server does not reach its storage would have
// no page fallbacks until its next start.
func TestTheImageIsAwaited(t *testing.T) {
	g := NewWithT(t)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: "operator-awaited"}}
	pod.Spec.Containers = []corev1.Container{{Name: "manager", Image: "example.com/operator:1", SecurityContext: restricted()}}
	pod.Spec.SecurityContext = restrictedPod()
	borrow(t, pod)

	address, _, err := rest.DefaultServerUrlFor(adminConfig)
	g.Expect(err).NotTo(HaveOccurred())
	through := httputil.NewSingleHostReverseProxy(address)
	through.Transport, err = rest.TransportFor(adminConfig)
	g.Expect(err).NotTo(HaveOccurred())
	var failed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/pods/") && failed.CompareAndSwap(false, true) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	image, err := operator.ResponderImage(t.Context(), &rest.Config{Host: server.URL},
		&settings.Settings{Manager: setting.Manager{OperatorNamespace: operatorNamespace, PodName: pod.Name}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(image).To(Equal("example.com/operator:1"))
}

func restrictedPod() *corev1.PodSecurityContext {
	return &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
