//go:build e2e

package olm

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// secondPackage is the package of the workloads operator, in the same catalog.
const secondPackage = "critical-service-workloads"

// TestTheCatalogInstallsTheSecondPackageAlone is an install of the workloads operator where the first
// package is not, and is not brought along.
func TestTheCatalogInstallsTheSecondPackageAlone(t *testing.T) {
	w := newWorld(t, secondHome, restricted)

	w.stage("it is installed where Pod Security is restricted", func() {
		w.install(current, map[string]any{"spec.name": secondPackage})
		w.Eventually(func(g Gomega) {
			var versions v1alpha1.ClusterServiceVersionList
			g.Expect(w.List(w.ctx, &versions, client.InNamespace(w.operator))).To(Succeed())
			g.Expect(versions.Items).To(HaveLen(1))
			g.Expect(versions.Items[0].Name).To(Equal(secondPackage + ".v" + string(current)))
			status := versions.Items[0].Status
			g.Expect(status.Phase).To(Equal(v1alpha1.CSVPhaseSucceeded), "%s: %s", status.Reason, status.Message)
			done, state, err := w.DeploymentAvailable(w.ctx, keyOf(w.operator, secondPackage))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(done).To(BeTrue(), state)
		}).WithTimeout(installLimit).Should(Succeed(), "the workloads operator is installed and runs")
		w.Expect(w.gone(customResources())()).To(BeTrue(), "the first package is not installed")
	})
	w.stage("what is written in one version is read in the other, with the certificate of OLM", func() {
		first := appConfig("v1")
		first.SetNamespace(w.shops)
		first.SetName("shop")
		first.Object["spec"] = map[string]any{"appName": "shop", "config": map[string]any{"LOG_LEVEL": "debug"}}
		w.Eventually(func() error { return w.Create(w.ctx, first.DeepCopy()) }).Should(Succeed())
		second := appConfig("v2")
		w.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(first), second)).To(Succeed())
		settings, _, err := unstructured.NestedStringMap(second.Object, "spec", "configuration", "settings")
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(settings).To(Equal(map[string]string{"LOG_LEVEL": "debug"}))
	})
	w.stage("scorecard finds nothing to fix", func() {
		w.scorecardAccount(secondJudged)
		w.findsNothing(secondJudged, "database")
	})
}

// appConfig is an empty AppConfig of a version.
func appConfig(version string) *unstructured.Unstructured {
	config := &unstructured.Unstructured{}
	config.SetGroupVersionKind(schema.GroupVersionKind{Group: "mycrd.com", Version: version, Kind: "AppConfig"})
	return config
}
