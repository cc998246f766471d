//go:build e2e

package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// TestOLMv1InstallsAndUpgrades is the life of an install by OLM v1, from the same catalog, where Pod Security is
// restricted: an upgrade while Services are in outage, both packages, and the end. cert-manager makes the certificates.
func TestOLMv1InstallsAndUpgrades(t *testing.T) {
	w := newWorld(t, extensionHome, restricted)
	second := w.beside(secondHome)
	var cart, storefront *service
	var cartOnPod, storefrontOnPage *watch

	w.stage("the previous version is installed where Pod Security is restricted, with settings", func() {
		w.namespace(w.operator, restricted)
		w.Expect(w.Create(w.ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.operator, Name: "critical-service-settings"},
			Data:       map[string]string{"POD_NAME_PREFIX": namePrefix},
		})).To(Succeed())
		w.fallbackTemplate()
		w.extends("install.md", "OLM", previous)
		w.shell(w.guide("OLM", "sh", "kubectl wait"))
		w.hasExtended(packageName, previous)
		w.trusted()
		w.refuses()
	})
	w.stage("OLM v1 puts back what is deleted", func() {
		deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: w.operator, Name: deploymentName}}
		w.Expect(w.Delete(w.ctx, deployment)).To(Succeed())
		w.hasExtended(packageName, previous)
	})
	w.stage("a CriticalService of version 1 protects", func() {
		cart = w.service("cart").critical().becomes(criticalv2.StateArmed).answeredBy("cart")
		cart.standsIn(fallbackName).recovers()
		cart.standsIn(fallbackName)
		w.Eventually(cart.fallbacks).Should(HaveExactElements(HaveField("Name", namePrefix+"-cart")))
	})
	w.stage("a CriticalService of version 2 protects", func() {
		storefront = w.service("storefront").withPage().becomes(criticalv2.StateArmed).answeredBy("storefront")
		storefront.standsIn(thePage).recovers()
		storefront.standsIn(thePage)
	})
	w.stage("the catalog upgrades in the middle of outages, without a failed request", func() {
		cartOnPod, storefrontOnPage = cart.watched(), storefront.watched()
		w.offersInV1(current)
		w.hasExtended(packageName, current)
		w.respondersRun(current)
		w.Eventually(w.storedVersions).Should(HaveExactElements("v2"), "all objects are stored in version 2")
		cart.becomes(criticalv2.StateCovered)
		storefront.becomes(criticalv2.StateCovered)
		w.bothVersionsOf(cart, storefront)
	})
	w.stage("cert-manager renews the certificate", func() {
		old := w.trusted()
		w.Expect(w.DeleteAllOf(w.ctx, &corev1.Secret{}, client.InNamespace(w.operator), client.HasLabels{"controller.cert-manager.io/fao"})).To(Succeed())
		w.Eventually(w.trusted).WithTimeout(installLimit).ShouldNot(Equal(old), "the operator serves the new one")
		w.bothVersionsOf(cart, storefront)
		w.refuses()
		cartOnPod.answeredOnlyBy(fallbackName)
		storefrontOnPage.answeredOnlyBy(thePage)
	})
	w.stage("the outages end, and the next ones are answered", func() {
		cart.recovers()
		storefront.recovers()
		cart.standsIn(fallbackName)
		storefront.standsIn(thePage)
	})
	w.stage("the second package is installed beside it, and converts", func() {
		second.extends("workloads.md", "Install", current)
		second.hasExtended(secondPackage, current)
		second.convertsAppConfigs()
	})
	w.stage("the documented uninstall leaves nothing", func() {
		second.shell(second.guideOf("workloads.md", "Install", "sh", "kubectl delete clusterextension"))
		w.withdraw()
		w.shell(w.guide("Uninstall", "sh", "kubectl delete clusterextension"))
		cart.isRefused()
		storefront.isRefused()
		cart.closes()
		storefront.closes()
		w.leavesNothing(func() {})
	})
}

// TestOLMv1TheOtherWaysToHaveCertManager installs without OLM, where cert-manager runs, which OLM v1 needs too.
func TestOLMv1TheOtherWaysToHaveCertManager(t *testing.T) {
	const (
		build = "../../bin/tools/kustomize build ../../config/certmanager"
		helm  = "../../bin/tools/helm --namespace " + catalogHome
		chart = packageName + " ../../config/chart/" + packageName
		// The second operator, beside the first one.
		secondHelm  = "../../bin/tools/helm --namespace " + guideSecondNamespace
		secondChart = secondPackage + " ../../workloads/config/chart/" + secondPackage
	)
	for name, way := range map[string]struct{ install, remove string }{
		"kustomize": {
			install: build + " | sed 's#" + registry + "operator:dev#" + current.operatorImage() + "#' | kubectl apply --server-side --force-conflicts -f -",
			remove:  build + " | kubectl delete --ignore-not-found -f -",
		},
		"Helm, with helm test of both charts": {
			install: helm + " install " + chart + " --create-namespace --set certificates=cert-manager --wait\n" + helm + " test " + packageName + "\n" +
				secondHelm + " install " + secondChart + " --create-namespace --set certificates=cert-manager,crds.keep=false --wait\n" +
				secondHelm + " test " + secondPackage,
			remove: secondHelm + " uninstall " + secondPackage + " --ignore-not-found --wait\n" +
				"kubectl delete --ignore-not-found namespace " + guideSecondNamespace + "\n" +
				helm + " uninstall " + packageName + " --ignore-not-found --wait",
		},
	} {
		t.Run(name, func(t *testing.T) { certManagedBy(t, way.install, way.remove) })
	}
}

// certManagedBy is the life of an install with certificates of cert-manager.
func certManagedBy(t *testing.T, install, remove string) {
	t.Helper()
	w := newWorld(t, catalogHome, restricted)
	t.Cleanup(func() { w.shell(remove) }) // Where the story failed: sweep removes what OLM installs.
	w.stage("it is installed, and the operator serves cert-manager's certificate", func() {
		t.Log(w.shell(install))
		w.runs(current)
		w.trusted()
		w.refuses()
		w.Expect(w.gone(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.operator, Name: "critical-service-webhook-ca"}})()).To(
			BeTrue(), "it has no authority of its own")
	})
	w.stage("both versions of the API convert, and a Service is answered in its outage", func() {
		s := w.service("storefront").withPage().becomes(criticalv2.StateArmed).answeredBy("storefront")
		older, newer := w.bothVersions(w, s.policy)
		w.Expect(older.Namespace).To(Equal(w.shops))
		w.Expect(newer.Namespaces).To(HaveExactElements(w.shops))
		s.standsIn(thePage).recovers()
		s.closes()
	})
	w.stage("deletion leaves nothing", func() {
		w.withdraw()
		w.shell(remove)
		w.shell("kubectl delete --ignore-not-found crd criticalservices.mycrd.com servicefallbacks.mycrd.com maintenances.mycrd.com")
		w.shell("kubectl delete --ignore-not-found namespace " + w.operator)
		w.leavesNothing(func() {})
	})
}
