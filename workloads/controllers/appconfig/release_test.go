package appconfig_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// applies applies a manifest as a GitOps tool does, under the name of a field manager.
func (w *world) applies(manager string, manifest *unstructured.Unstructured) error {
	w.T.Helper()
	manifest.SetNamespace(w.Namespace)
	return w.Cluster.Client.Apply(w.T.Context(), client.ApplyConfigurationFromUnstructured(manifest), client.FieldOwner(manager), client.ForceOwnership)
}

// storefront is what Git has of a Deployment.
func storefront(g Gomega, label, container string) *unstructured.Unstructured {
	return object(g, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: storefront, labels: {%s}}
spec:
  selector: {matchLabels: {app: storefront}}
  template:
    metadata: {labels: {app: storefront}}
    spec: {containers: [{name: %s, image: shop:1}]}
`, label, container))
}

// The item of the list of containers is the operator's as well, so that it would stay, without
// an image. docs/appconfig.md has the way out.
func TestAContainerIsRenamedByServerSideApply(t *testing.T) {
	w := newWorld(t)
	const uses = workloadsv2.LabelAppConfig + ": shop"
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = w.Namespace, "storefront"
	w.Expect(w.applies("flux", storefront(w, uses, "app"))).To(Succeed())
	app := w.config()
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.Eventually(w.takes(d)).Should(Equal(app.Status.ConfigMapName))
	w.Expect(w.applies("flux", storefront(w, uses, "web"))).To(MatchError(ContainSubstring("image: Required value")))

	w.Expect(w.applies("flux", storefront(w, "", "app"))).To(Succeed())
	w.operator.Settled(w.World)
	w.Expect(w.takes(d)()).To(Equal(app.Status.ConfigMapName), "without the label it keeps what it has")
	w.Expect(w.applies(workloadsv1.ManagedBy, object(w, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: storefront}}`))).To(Succeed())
	w.Expect(w.takes(d)()).To(BeEmpty())
	w.Expect(w.applies("flux", storefront(w, uses, "web"))).To(Succeed())
	w.Eventually(w.takes(d)).Should(Equal(app.Status.ConfigMapName))
	w.Expect(d.Spec.Template.Spec.Containers).To(ConsistOf(HaveField("Name", "web")))
}
