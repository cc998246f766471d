//go:build e2e

package e2e

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
)

// TestTheWalkThroughOfTheArticle is section 5.4 of the article from which the project comes (GNU/Linux
// Magazine 243), with its YAML unchanged, and with real requests from inside and outside the cluster.
// Only the images are others.
func TestTheWalkThroughOfTheArticle(t *testing.T) {
	w := worldIn(t, metav1.NamespaceDefault)
	w.reportFailure()

	// "Nous définissons alors le Service suivant": a Service without endpoints answers nothing.
	w.apply("article-service.yaml")
	frontend := w.existingService("frontend")
	frontend.answeredByNoOne()
	w.Expect(ask(frontend.nodePortURL())).To(HavePrefix("no one"))
	w.Expect(frontend.readyEndpoints(w)).To(BeEmpty())
	stop := frontend.probe()

	// "Ajoutons maintenant la définition du CriticalService": the fallback becomes the endpoint.
	w.apply("article-critical-service.yaml")
	frontend.policy = &criticalv1.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "frontend"}}
	fallback := frontend.covered()
	w.Expect(fallback.Name).To(Equal("service-watcher-frontend"))
	w.Expect(fallback.Annotations).To(HaveKeyWithValue("service-watcher", "owned"))
	w.Expect(fallback.Labels).To(HaveKeyWithValue("role", "frontend"))
	w.Eventually(ask).WithArguments(frontend.nodePortURL()).Should(Equal(fallbackName))
	var asWritten criticalv1.CriticalService
	w.Expect(w.Get(w.ctx, client.ObjectKey{Name: "frontend"}, &asWritten)).To(Succeed())
	w.Expect(asWritten.Spec.MatchLabels).To(HaveExactElements(criticalv1.LabelMatch{Key: "role", Value: "frontend"}))
	w.Expect(asWritten.Status.Services.Covered).To(BeEquivalentTo(1))

	// "ajoutons maintenant un POD qui possède les labels attendus": the fallback gives way to it.
	nginx := w.nginx()
	frontend.armed("nginx")
	w.Eventually(frontend.readyEndpoints).Should(HaveExactElements("nginx"))
	w.Eventually(ask).WithArguments(frontend.nodePortURL()).Should(Equal("nginx"))

	// And once more, as the article would have gone on: the Pod goes, the fallback comes back.
	w.remove(nginx)
	again := frontend.covered()
	w.Expect(again.UID).NotTo(Equal(fallback.UID))
	w.Eventually(ask).WithArguments(frontend.nodePortURL()).Should(Equal(fallbackName))
	frontend.keeps(again)
	stop()
}

func (w *world) existingService(name string) *service {
	w.t.Helper()
	s := &service{world: w, object: &corev1.Service{}}
	w.Expect(w.Get(w.ctx, client.ObjectKey{Namespace: w.namespace, Name: name}, s.object)).To(Succeed())
	return s
}

// nginx stands for the article's nginx-pod.yaml: it has the Service's labels, listens on port 80, for
// which it must be root, and stops as soon as it is asked to.
func (w *world) nginx() *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "nginx", Labels: labels{"role": "frontend"}},
		Spec:       webPod("nginx", "--port=80", "--drain=0s"),
	}
	pod.Spec.SecurityContext = nil
	container := &pod.Spec.Containers[0]
	container.SecurityContext = &corev1.SecurityContext{RunAsUser: new(int64(0))}
	container.Ports[0].ContainerPort = 80
	container.ReadinessProbe.HTTPGet.Port = intstr.FromInt32(80)
	w.create(pod)
	return pod
}
