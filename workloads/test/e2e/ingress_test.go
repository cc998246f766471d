//go:build e2e

package e2e

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// TestIngressesAsTheDocumentHasThem follows "Écrire un contrôleur Kubernetes en Go avec controller-runtime", by the
// commands of docs/ingress.md: every Ingress, also one that existed, gets the annotation foo: bar, and keeps all others.
// It is not parallel, as it restarts the operator.
func TestIngressesAsTheDocumentHasThem(t *testing.T) {
	w := newWorld(t)
	d := w.database("shop", workloadsv1.DatabaseMongo).runs()
	before := w.ingress("before", "shop")
	w.Expect(w.annotations(before)).NotTo(HaveKey("foo"), "nothing is set by default")

	component := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: workloads.Namespace, Name: workloads.Name + "-settings"}}
	w.t.Cleanup(func() {
		w.report()
		w.remove(component)
		_, _ = w.tryKubectl("delete", "--ignore-not-found", "--filename=../../config/ingress/role.yaml")
		w.restart()
	})
	w.Expect(w.kubectl("apply", "--filename=../../config/ingress/role.yaml")).To(ContainSubstring("critical-service-workloads-ingress created"))
	component.Data = map[string]string{"INGRESS_ANNOTATIONS": "foo=bar", "INGRESS_STATUS": "true"}
	w.Expect(w.Create(w.ctx, component)).To(Succeed())
	w.restart()

	after := w.ingress("after", "shop")
	for _, one := range []*networkingv1.Ingress{before, after} {
		w.Eventually(w.annotations).WithArguments(one).Should(And(HaveKeyWithValue("foo", "bar"), HaveKeyWithValue("team", "shop")))
	}

	// While the Service is on its fallback, its Ingresses say so.
	d.suspend(true)
	w.Eventually(w.annotations).WithArguments(after).Should(HaveKeyWithValue(workloadsv1.AnnotationFallback, "shop"))
	w.Eventually(w.kubectl).WithArguments("get", "events").Should(MatchRegexp(`Warning +ServicesOnFallback +ingress/after +Services on their fallback: shop`))
	d.suspend(false)
	w.Eventually(w.annotations).WithArguments(after).ShouldNot(HaveKey(workloadsv1.AnnotationFallback))
	w.Eventually(w.kubectl).WithArguments("get", "events").Should(MatchRegexp(`Normal +ServicesRestored +ingress/after`))

	// Who sets it to another value has it, and an event says so.
	w.kubectl("annotate", "--overwrite", "ingress", "before", "foo=mine")
	w.Eventually(w.kubectl).WithArguments("get", "events").Should(MatchRegexp(`Warning +AnnotationConflict +ingress/before`))
	w.Expect(w.annotations(before)).To(HaveKeyWithValue("foo", "mine"))

	// The settings go first, and the permission after what they had set.
	change(w, component, func(c *corev1.ConfigMap) { c.Data = nil })
	w.restart()
	w.Eventually(w.annotations).WithArguments(after).Should(Equal(map[string]string{"team": "shop"}))
	w.Expect(w.annotations(before)).To(Equal(map[string]string{"team": "shop", "foo": "mine"}))
}

// ingress makes an Ingress of a Service, with an annotation of its own.
func (w *world) ingress(name, service string) *networkingv1.Ingress {
	w.t.Helper()
	made := &networkingv1.Ingress{
		ObjectMeta: w.named(name),
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: service, Port: networkingv1.ServiceBackendPort{Number: 27017}},
		}},
	}
	made.Annotations = map[string]string{"team": "shop"}
	w.create(made)
	return made
}

// annotations are those of an Ingress as it is now.
func (w *world) annotations(of *networkingv1.Ingress) map[string]string {
	w.t.Helper()
	w.refresh(of)
	return of.Annotations
}

// restart lets the operator read its settings again.
func (w *world) restart() {
	w.t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: workloads.Namespace, Name: workloads.Name}}
	change(w, deployment, func(d *appsv1.Deployment) {
		metav1.SetMetaDataAnnotation(&d.Spec.Template.ObjectMeta, "kubectl.kubernetes.io/restartedAt", time.Now().Format(time.RFC3339Nano))
	})
	w.Expect(w.AwaitDeployment(w.ctx, workloads, installLimit)).To(Succeed())
}
