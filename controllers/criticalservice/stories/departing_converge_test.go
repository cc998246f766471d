package stories_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

// The story of a namespace that is deleted in mid-outage, while a Pod stands in for one of its Services and a page for
// another one, is lived again and again; each time another write of the operator goes wrong.
func TestANamespaceGoesWhicheverWriteGoesWrong(t *testing.T) {
	whicheverWriteGoesWrong(t, 20, (*world).depart)
}

// depart lives that story under an operator of its own, and describes the end.
func (w *world) depart(fate *testenv.Fate) string {
	w.T.Helper()
	w.beginFated(fate)
	w.template()

	toPods := w.policy("a", w.toPod(criticalv2.ActivationOnDemand))
	toPages := w.policy("b", toPage, func(p *criticalv2.CriticalService) {
		p.Spec.ServiceSelector.MatchLabels = map[string]string{"role": "page"}
	})
	service, real := w.up("web")
	shown, ready := w.up("shown", func(s *corev1.Service) { s.Labels = map[string]string{"role": "page"} })
	w.responder("responder-1")
	w.Eventually(w.stateOf(toPages, shown)).Should(Equal("Armed/StandbyReady"))
	w.Eventually(w.stateOf(toPods, service)).Should(Equal("Armed/EndpointsReady"))
	w.fail(shown, ready)
	w.Eventually(w.stateOf(toPages, shown)).Should(Equal("Covered/FallbackServing"))
	w.fail(service, real)
	w.MakeReady(w.fallback(service))
	w.Eventually(w.published(service)).Should(HaveSuffix("promoted"))
	w.Eventually(w.stateOf(toPods, service)).Should(Equal("Covered/FallbackServing"))

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	w.Delete(namespace)
	// No controller of namespaces runs here.
	w.DeleteAll(&corev1.Pod{})
	w.Eventually(w.stateOf(toPods, service)).Should(HavePrefix("Exposed/"), "no other Pod may be made")
	w.Eventually(w.stateOf(toPages, shown)).Should(HavePrefix("Exposed/"))
	rest := []client.Object{
		&appsv1.Deployment{}, &corev1.ConfigMap{}, &policyv1.PodDisruptionBudget{}, &discoveryv1.EndpointSlice{},
		&corev1.PodTemplate{}, &corev1.Service{},
	}
	w.DeleteAll(rest...)
	w.Eventually(w.stateOf(toPods, service)).Should(Equal("/"))
	w.Eventually(w.stateOf(toPages, shown)).Should(Equal("/"))
	for _, kind := range append(rest, &corev1.Pod{}) {
		w.Expect(w.names(kind)).To(BeEmpty(), "what stays keeps the namespace")
	}
	w.finalize(namespace)
	w.atRest(fate)
	return w.describe(toPods, toPages)
}

// names are those of the objects of a kind in the namespace.
func (w *world) names(kind client.Object) []string {
	w.T.Helper()
	gvk, err := w.Cluster.Client.GroupVersionKindFor(kind)
	w.Expect(err).NotTo(HaveOccurred())
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk)
	w.Expect(w.Cluster.Client.List(w.T.Context(), list, client.InNamespace(w.Namespace))).To(Succeed())
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// finalize lets a namespace go that is empty.
func (w *world) finalize(namespace *corev1.Namespace) {
	w.T.Helper()
	w.Expect(w.Exists(namespace)).To(BeTrue(), "it waits for its finalizer")
	namespace.Spec.Finalizers = nil
	w.Expect(w.Cluster.Client.SubResource("finalize").Update(w.T.Context(), namespace)).To(Succeed())
	w.Eventually(func() bool { return w.Exists(namespace) }).Should(BeFalse())
}
