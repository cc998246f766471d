package operator_test

import (
	"testing"

	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
)

// Without the permission of config/ingress no Ingress is read, and a setting that needs it stops the start.
func TestIngressesNeedAPermissionOfTheirOwn(t *testing.T) {
	w := newWorld(t)
	without := w.start()
	w.Eventually(without.Ready).Should(Succeed())
	w.Expect(without.Log.String()).NotTo(ContainSubstring("ingress\""), "there is no such controller")
	without.Stop()

	refused := w.start("INGRESS_ANNOTATIONS=foo=bar")
	w.Eventually(refused.Log.String).Should(ContainSubstring("the operator may not list, watch and patch Ingresses: install config/ingress as well, or clear the settings"))
	w.Eventually(refused.Ended).Should(Receive(HaveOccurred()))
	refused.Kill = nil // It has ended, and not well.

	objects, err := testenv.ReadYAML(testenv.Path("workloads/config/ingress/role.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		w.create(object)
	}
	ingress := &networkingv1.Ingress{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.team, Name: "shop"},
		Spec: networkingv1.IngressSpec{DefaultBackend: &networkingv1.IngressBackend{
			Service: &networkingv1.IngressServiceBackend{Name: "shop", Port: networkingv1.ServiceBackendPort{Number: 80}},
		}},
	}
	w.create(ingress)
	w.Eventually(func() bool {
		return w.may(t.Context(), "", authorizationv1.ResourceAttributes{Group: networkingv1.GroupName, Resource: "ingresses", Verb: "patch"})
	}).Should(BeTrue(), "the API server reads roles from a cache")
	permitted := w.start("INGRESS_ANNOTATIONS=foo=bar")
	w.Eventually(permitted.Ready).Should(Succeed())
	w.Eventually(func() map[string]string {
		w.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(ingress), ingress)).To(Succeed())
		return ingress.Annotations
	}).Should(HaveKeyWithValue("foo", "bar"))
	w.Expect(permitted.Log.String()).NotTo(ContainSubstring("forbidden"), "nothing is denied")
}
