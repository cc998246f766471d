//go:build e2e

package olm

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// offers gives the catalog newer content, as when its tag is pushed again.
func (w *world) offers(newest release) {
	w.t.Helper()
	catalog := &v1alpha1.CatalogSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.operator, Name: w.catalog}}
	change(w, catalog, func(c *v1alpha1.CatalogSource) { c.Spec.Image = newest.catalogImage() })
}

// succeeds waits until a version of the first package is installed, the only one, and its Pods run.
//
// After an upgrade OLM makes a new certificate, because the old one goes with the version that owned it,
// and so installs the operator once more. It is done when the certificate is the new version's. What is
// read first is older: a version that has succeeded after that has done so with this certificate.
func (w *world) succeeds(version release) {
	w.t.Helper()
	began := time.Now()
	w.Eventually(func(g Gomega) {
		var certificate corev1.Secret
		g.Expect(w.Get(w.ctx, keyOf(w.operator, webhookSecret), &certificate)).To(Succeed())
		g.Expect(certificate.OwnerReferences).To(HaveExactElements(HaveField("Name", version.csv())))
		w.isInstalled(g, packageName, version)
	}).WithTimeout(installLimit).Should(Succeed(), "version %s is installed", version)
	w.runs(version)
	w.t.Logf("version %s was installed after %s", version, time.Since(began).Round(time.Second))
}

// isInstalled expects that OLM has installed a version of a package in the operator's namespace, and no other. Another package
// may be there too, as OLM copies each into all namespaces.
func (w *world) isInstalled(g Gomega, name string, version release) {
	var versions v1alpha1.ClusterServiceVersionList
	g.Expect(w.List(w.ctx, &versions, client.InNamespace(w.operator))).To(Succeed())
	installed := slices.DeleteFunc(versions.Items, func(found v1alpha1.ClusterServiceVersion) bool { return !strings.HasPrefix(found.Name, name+".v") })
	g.Expect(installed).To(HaveExactElements(HaveField("Name", name+".v"+string(version))))
	status := installed[0].Status
	g.Expect(status.Phase).To(Equal(v1alpha1.CSVPhaseSucceeded), "%s: %s", status.Reason, status.Message)
}

// runs waits until the operator's Pods are those of a version, ready, and none of another.
func (w *world) runs(version release) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		done, state, err := w.DeploymentAvailable(w.ctx, keyOf(w.operator, deploymentName))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(done).To(BeTrue(), state)
		for _, pod := range w.operatorPods(g) {
			g.Expect(pod.Spec.Containers[0].Image).To(Equal(version.operatorImage()))
			g.Expect(pod.DeletionTimestamp).To(BeNil())
		}
	}).WithTimeout(installLimit).Should(Succeed(), "version %s runs", version)
}

func (w *world) operatorPods(g Gomega) []corev1.Pod {
	var deployment appsv1.Deployment
	g.Expect(w.Get(w.ctx, keyOf(w.operator, deploymentName), &deployment)).To(Succeed())
	var pods corev1.PodList
	g.Expect(w.List(w.ctx, &pods, client.InNamespace(w.operator),
		client.MatchingLabels(deployment.Spec.Selector.MatchLabels))).To(Succeed())
	return pods.Items
}

// installedIn are the names of the versions in a namespace, copies of other namespaces' versions included.
func (w *world) installedIn(g Gomega, namespace string) []string {
	var versions v1alpha1.ClusterServiceVersionList
	g.Expect(w.List(w.ctx, &versions, client.InNamespace(namespace))).To(Succeed())
	var names []string
	for _, version := range versions.Items {
		names = append(names, version.Name)
	}
	return names
}

// awaitsApproval waits until OLM plans a version, and asks for leave to install it.
func (w *world) awaitsApproval(version release) *v1alpha1.InstallPlan {
	w.t.Helper()
	var plan *v1alpha1.InstallPlan
	w.Eventually(func(g Gomega) {
		var plans v1alpha1.InstallPlanList
		g.Expect(w.List(w.ctx, &plans, client.InNamespace(w.operator))).To(Succeed())
		at := slices.IndexFunc(plans.Items, func(p v1alpha1.InstallPlan) bool {
			return slices.Contains(p.Spec.ClusterServiceVersionNames, version.csv())
		})
		g.Expect(at).NotTo(Equal(-1), "an InstallPlan for version %s", version)
		g.Expect(plans.Items[at].Status.Phase).To(Equal(v1alpha1.InstallPlanPhaseRequiresApproval))
		plan = &plans.Items[at]
	}).WithTimeout(installLimit).Should(Succeed(), "version %s awaits approval", version)
	w.Expect(plan.Spec.Approved).To(BeFalse())
	return plan
}

// approve does what a person does to let OLM go on.
func (w *world) approve(plan *v1alpha1.InstallPlan) {
	w.t.Helper()
	change(w, plan, func(p *v1alpha1.InstallPlan) { p.Spec.Approved = true })
}

// bothVersions reads a CriticalService in both versions. Whichever it is stored as, one of them is
// converted by the operator, which the API server must trust.
func (w *world) bothVersions(g Gomega, name string) (criticalv1.CriticalServiceSpec, criticalv2.CriticalServiceSpec) {
	var older criticalv1.CriticalService
	var newer criticalv2.CriticalService
	g.Expect(w.Get(w.ctx, client.ObjectKey{Name: name}, &older)).To(Succeed())
	g.Expect(w.Get(w.ctx, client.ObjectKey{Name: name}, &newer)).To(Succeed())
	return older.Spec, newer.Spec
}
