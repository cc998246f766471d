//go:build e2e

package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secondPackage is the package of the workloads operator, in the same catalog.
const secondPackage = "critical-service-workloads"

// TestTheCatalogInstallsTheSecondPackageAloneAndThenTheFirst is an install of the workloads operator where the first
// package is not, and is not brought along; and then of both, from one catalog.
func TestTheCatalogInstallsTheSecondPackageAloneAndThenTheFirst(t *testing.T) {
	w := newWorld(t, secondHome, restricted)
	orders := w.database("orders")

	w.stage("it is installed where Pod Security is restricted", func() {
		w.installSecond(current)
		w.Eventually(func(g Gomega) {
			w.isInstalled(g, secondPackage, current)
			done, state, err := w.DeploymentAvailable(w.ctx, keyOf(w.operator, secondPackage))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(done).To(BeTrue(), state)
		}).WithTimeout(installLimit).Should(Succeed(), "the workloads operator is installed and runs")
		w.Expect(w.gone(customResources())()).To(BeTrue(), "the first package is not installed")
	})
	w.stage("what is written in one version is read in the other, with the certificate of OLM", func() {
		w.convertsAppConfigs()
	})
	w.stage("a Database runs, and says what to install", func() {
		w.Expect(w.Create(w.ctx, orders)).To(Succeed())
		w.says(orders, "Ready", "True", "")
		w.says(orders, "Protected", "False", "install critical-service-operator")
	})
	w.stage("scorecard finds nothing to fix", func() {
		w.scorecardAccount(secondJudged)
		w.findsNothing(secondJudged, "database")
	})
	w.stage("the first package is installed from the same catalog, and protects what is there", func() {
		first := w.beside(catalogHome)
		first.install(current, nil)
		first.succeeds(current)
		w.isInstalled(w, secondPackage, current)
		w.says(orders, "Protected", "True", "")
	})
	w.stage("scorecard finds a Database that is born protected", func() {
		results := w.scorecard(secondJudged, w.bundleTests(secondJudged), "--selector", "test=protected")
		w.Expect(results).To(HaveKey("protected"))
		w.Expect(results["protected"].State).To(Equal(v1alpha3.PassState), "%v\n%s", results["protected"].Errors, results["protected"].Log)
		w.Expect(results["protected"].Log).NotTo(ContainSubstring("is not installed"), "it has met the first operator")
	})
}

// workload is an empty object of the workloads operator.
func workload(version, kind, namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "mycrd.com", Version: version, Kind: kind})
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

// database is one in the namespace of the Services.
func (w *world) database(name string) *unstructured.Unstructured {
	object := workload("v1", "Database", w.shops, name)
	object.Object["spec"] = map[string]any{"type": "mongo", "service": map[string]any{"type": "ClusterIP"}}
	return object
}

// says waits for a condition of an object, with a message that has these words.
func (w *world) says(object *unstructured.Unstructured, condition, status, words string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
		conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(conditions).To(ContainElement(And(
			HaveKeyWithValue("type", condition), HaveKeyWithValue("status", status), HaveKeyWithValue("message", ContainSubstring(words)),
		)))
	}).Should(Succeed(), "condition %s of %s %s", condition, object.GetKind(), object.GetName())
}

// convertsAppConfigs writes an AppConfig in one version, and reads it in the other.
func (w *world) convertsAppConfigs() {
	w.t.Helper()
	first := workload("v1", "AppConfig", w.shops, "shop")
	first.Object["spec"] = map[string]any{"appName": "shop", "config": map[string]any{"LOG_LEVEL": "debug"}}
	w.Eventually(func() error { return w.Create(w.ctx, first.DeepCopy()) }).Should(Succeed())
	second := workload("v2", "AppConfig", w.shops, "shop")
	w.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(first), second)).To(Succeed())
	settings, _, err := unstructured.NestedStringMap(second.Object, "spec", "configuration", "settings")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(settings).To(Equal(map[string]string{"LOG_LEVEL": "debug"}))
}
