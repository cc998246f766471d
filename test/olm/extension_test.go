//go:build e2e

package olm

import (
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The kinds of OLM v1, in the order in which they are deleted. Their Go types are in a module that the
// project does not need for anything else.
var (
	extensionKind = schema.GroupVersionKind{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterExtension"}
	catalogKind   = schema.GroupVersionKind{Group: "olm.operatorframework.io", Version: "v1", Kind: "ClusterCatalog"}
)

func ofV1(kind schema.GroupVersionKind, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetName(name)
	return object
}

// extends does what a page says about OLM v1, with a catalog in which a version is the newest.
func (w *world) extends(page, section string, newest release) {
	w.t.Helper()
	w.subscribe(w.guideOf(page, section, "yaml", "kind: ClusterExtension"), newest, nil)
}

// offersInV1 gives the catalog newer content, as when its tag is pushed again.
func (w *world) offersInV1(newest release) {
	w.t.Helper()
	change(w, ofV1(catalogKind, w.catalog), func(c *unstructured.Unstructured) {
		w.Expect(unstructured.SetNestedField(c.Object, newest.catalogImage(), "spec", "source", "image", "ref")).To(Succeed())
	})
}

// hasExtended waits until OLM v1 has installed a version of a package, whose Deployment has its name, and it runs.
func (w *world) hasExtended(name string, version release) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		extension := ofV1(extensionKind, name)
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(extension), extension)).To(Succeed())
		installed, _, err := unstructured.NestedString(extension.Object, "status", "install", "bundle", "version")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(installed).To(Equal(string(version)), "%v", extension.Object["status"])
		var deployment appsv1.Deployment
		g.Expect(w.Get(w.ctx, keyOf(w.operator, name), &deployment)).To(Succeed())
		g.Expect(deployment.Spec.Template.Spec.Containers[0].Image).To(HaveSuffix(":v" + string(version)))
		done, state, err := w.DeploymentAvailable(w.ctx, keyOf(w.operator, name))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(done).To(BeTrue(), state)
	}).WithTimeout(installLimit).Should(Succeed(), "version %s of %s is installed and runs", version, name)
}

// trusted waits until the operator serves a certificate of the authority that cert-manager has the API server trust.
func (w *world) trusted() string {
	w.t.Helper()
	var serial string
	w.Eventually(func(g Gomega) {
		var crd apiextensionsv1.CustomResourceDefinition
		g.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(customResources()), &crd)).To(Succeed())
		g.Expect(crd.Annotations).To(HaveKey("cert-manager.io/inject-ca-from"))
		asked := crd.Spec.Conversion.Webhook.ClientConfig
		serial = w.served(g, asked.Service.Name, asked.CABundle).SerialNumber.String()
	}).WithTimeout(installLimit).Should(Succeed(), "cert-manager's certificate is in use")
	return serial
}

// sweepV1 removes what OLM v1 was asked for, if it is in the cluster.
func (w *world) sweepV1() {
	w.t.Helper()
	for _, kind := range []schema.GroupVersionKind{extensionKind, catalogKind} {
		err := w.DeleteAllOf(w.ctx, ofV1(kind, ""))
		if meta.IsNoMatchError(err) {
			return
		}
		w.Expect(err).NotTo(HaveOccurred())
		w.Eventually(func(g Gomega) []unstructured.Unstructured {
			list := &unstructured.UnstructuredList{}
			list.SetGroupVersionKind(kind)
			g.Expect(w.List(w.ctx, list)).To(Succeed())
			return list.Items
		}).WithTimeout(installLimit).Should(BeEmpty(), "OLM v1 removes every %s", kind.Kind)
	}
}

// extensionsText is what OLM v1 says.
func (w *world) extensionsText(Gomega) string {
	text := &strings.Builder{}
	for _, kind := range []schema.GroupVersionKind{extensionKind, catalogKind} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := w.List(w.ctx, list); err != nil {
			return fmt.Sprintf("no OLM v1: %v", err)
		}
		for _, object := range list.Items {
			write(text, kind.Kind+" "+object.GetName(), object.Object["spec"], object.Object["status"])
		}
	}
	return text.String()
}
