package operator_test

import (
	"context"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// definition is the CustomResourceDefinition of AppConfigs.
func (w *world) definition() *apiextensionsv1.CustomResourceDefinition {
	w.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	w.Expect(cluster.Client.Get(w.t.Context(), types.NamespacedName{Name: operator.Webhook.Kind.Definition()}, crd)).To(Succeed())
	return crd
}

// store lets a version be the one that is stored.
func (w *world) store(version string) {
	w.t.Helper()
	w.Eventually(func() error {
		crd := w.definition()
		for i := range crd.Spec.Versions {
			crd.Spec.Versions[i].Storage = crd.Spec.Versions[i].Name == version
		}
		return cluster.Client.Update(w.t.Context(), crd)
	}).Should(Succeed())
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).Should(ContainElement(version))
}

// A cluster can have stored v1: AppConfigs are of a namespace.
func TestWhatIsStoredAsV1IsRewritten(t *testing.T) {
	w := newWorld(t)
	w.store("v1")
	app := &workloadsv1.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.team, Name: "shop"},
		Spec:       workloadsv1.AppConfigSpec{AppName: "shop", Config: workloadsv2.Settings{"LOG_LEVEL": "debug"}},
	}
	w.Eventually(func() error { return cluster.Client.Create(t.Context(), app) }).Should(Succeed())
	t.Cleanup(func() {
		rewritten := &workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
		w.Expect(cluster.Client.Delete(context.WithoutCancel(t.Context()), rewritten)).To(Succeed(), "no webhook converts any more, and none is needed")
	})
	version := func() any {
		stored, err := cluster.Stored(t.Context(), strings.Join([]string{"mycrd.com/appconfigs", app.Namespace, app.Name}, "/"))
		w.Expect(err).NotTo(HaveOccurred())
		return stored["apiVersion"]
	}
	w.Expect(version()).To(Equal("mycrd.com/v1"))
	w.store("v2")

	w.start("LEADER_ELECT=true", "POD_NAME=workloads-1")
	w.Eventually(func() []string { return w.definition().Status.StoredVersions }).Should(Equal([]string{"v2"}))
	w.Expect(version()).To(Equal("mycrd.com/v2"))
}
