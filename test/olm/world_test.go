//go:build e2e

package olm

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/policy"
	"github.com/critical-service/operator/test/cluster"
	"github.com/critical-service/operator/test/testenv"
)

// labels is short for what stories are full of.
type labels = map[string]string

// restricted makes a namespace refuse Pods that are not as safe as Pods can be.
var restricted = labels{
	"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest",
}

// world is a story: the operator in one namespace, and the Services that it protects in another.
type world struct {
	*cluster.Cluster
	*WithT
	t   *testing.T
	ctx context.Context
	// operator and shops are the two namespaces.
	operator, shops string
	// catalog names the CatalogSource. It is another one in every run: for a while OLM goes by what it
	// has read from an earlier catalog of the same name.
	catalog string
	// before is what was in the cluster before the operator.
	before map[thing]bool
	// failure is why a stage has failed.
	failure string
}

// newWorld makes the namespace of the Services, and its users. Whatever an interrupted run has left is swept away before,
// and everything is when the story ends.
func newWorld(t *testing.T, home string, security labels) *world {
	t.Helper()
	w := &world{
		Cluster: shared, WithT: NewWithT(t), t: t, ctx: context.WithoutCancel(t.Context()),
		operator: home, shops: shopsOf(home), catalog: guideCatalog + "-" + utilrand.String(5),
	}
	w.sweep()
	t.Cleanup(w.sweep)
	t.Cleanup(w.reportFailure)
	w.namespace(w.shops, security)
	w.bindUsers()
	w.before = w.inventory(w)
	return w
}

// beside is the story with a second operator, in a namespace of its own.
func (w *world) beside(home string) *world {
	other := *w
	other.operator = home
	w.t.Cleanup(other.reportFailure)
	return &other
}

// namespace makes a namespace, and waits for what Kubernetes puts into each: until the account is there,
// it denies every Pod.
func (w *world) namespace(name string, security labels) {
	w.t.Helper()
	w.Expect(w.Create(w.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: security}})).To(Succeed())
	account, authority := &corev1.ServiceAccount{}, &corev1.ConfigMap{}
	w.Eventually(func(g Gomega) {
		g.Expect(w.Get(w.ctx, keyOf(name, "default"), account)).To(Succeed())
		g.Expect(w.Get(w.ctx, keyOf(name, "kube-root-ca.crt"), authority)).To(Succeed())
	}).Should(Succeed(), "namespace %s is ready", name)
}

// stage is a part of the story, with a result of its own. What follows stands on it: if it fails, the
// story ends.
func (w *world) stage(name string, do func()) {
	w.t.Helper()
	whole := w.WithT
	began := time.Now()
	passed := w.t.Run(name, func(t *testing.T) {
		w.WithT = NewWithT(t).ConfigureWithFailHandler(func(message string, _ ...int) {
			t.Helper()
			w.failure = message
			t.Fatalf("\n%s", message)
		})
		do()
	})
	w.WithT = whole
	w.t.Logf("%s: %s", name, time.Since(began).Round(time.Second))
	if !passed {
		w.t.FailNow()
	}
}

func keyOf(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// change edits an object that exists.
func change[T client.Object](w *world, object T, edit func(T)) {
	w.t.Helper()
	w.Expect(w.Get(w.ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before, _ := object.DeepCopyObject().(T)
	edit(object)
	w.Expect(w.Patch(w.ctx, object, client.MergeFrom(before))).To(Succeed())
}

// gone says whether an object does not exist.
func (w *world) gone(object client.Object) func() bool {
	return func() bool { return testenv.Gone(w.ctx, w.Client, object) }
}

// remove deletes an object, if it is there, until it is gone: OLM creates some again while it catches up.
func (w *world) remove(object client.Object, limit time.Duration) {
	w.t.Helper()
	name := object.GetName()
	w.Eventually(func(g Gomega) bool {
		g.Expect(client.IgnoreNotFound(w.Delete(w.ctx, object))).To(Succeed())
		return w.gone(object)()
	}).WithTimeout(limit).Should(BeTrue(), "%T %s is gone", object, name)
}

// customResources is the definition of CriticalServices.
func customResources() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: policy.Kind.Definition()}}
}

// The namespaces in which stories install the operator.
const (
	catalogHome  = guideNamespace
	approvalHome = "olm-approval"
	bundleHome   = "critical-service-trial" // That of hack/run-bundle.sh.
	secondHome   = "olm-workloads"
	// That of OLM v1.
	extensionHome = "olm-extension"
)

// shopsOf is the namespace of the Services of a story.
func shopsOf(home string) string { return home + "-shops" }

// sweep removes the operator in whatever state it is, and the namespaces of all stories: one that was
// interrupted is in the way of every other. It is not how a user removes it: that is uninstall.
func (w *world) sweep() {
	w.t.Helper()
	// While an operator still runs, it withdraws its fallbacks.
	everything := &metav1.PartialObjectMetadata{}
	everything.SetGroupVersionKind(criticalv2.CriticalServiceKind)
	if err := w.DeleteAllOf(w.ctx, everything); err != nil && !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		w.t.Logf("CriticalServices are deleted with their definition, as they cannot be deleted one by one: %v", err)
	}
	w.sweepV1()
	homes := []string{catalogHome, approvalHome, bundleHome, secondHome, extensionHome}
	for _, home := range homes {
		for _, kind := range []client.Object{
			&v1alpha1.Subscription{}, &v1alpha1.ClusterServiceVersion{}, &v1alpha1.InstallPlan{},
			&v1alpha1.CatalogSource{}, &operatorsv1.OperatorGroup{},
		} {
			w.Expect(client.IgnoreNotFound(w.DeleteAllOf(w.ctx, kind, client.InNamespace(home)))).To(Succeed())
		}
	}
	// OLM removes what a version has brought, and its copies; only then may the namespaces go.
	for _, home := range homes {
		w.Eventually(func(g Gomega) []string { return w.installedIn(g, home) }).WithTimeout(installLimit).Should(
			BeEmpty(), "OLM removes what it has installed in %s", home)
	}
	for _, name := range []string{
		policy.Kind.Definition(), "servicefallbacks.mycrd.com", "maintenances.mycrd.com", "appconfigs.mycrd.com", "databases.mycrd.com",
	} {
		w.sweepDefinition(name)
	}
	for _, home := range homes {
		for _, name := range []string{shopsOf(home), home} {
			w.remove(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, installLimit)
		}
		for _, left := range leftByManager(home) {
			w.remove(left, soon)
		}
	}
}

// sweepDefinition removes the definition of a kind, and so all of its objects. The
// conversion webhook may be gone already: a deletion does not need it.
func (w *world) sweepDefinition(name string) {
	w.t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if w.gone(crd)() {
		return
	}
	change(w, crd, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.NoneConverter}
	})
	w.remove(crd, soon)
}

// leftByManager is what OLM makes for an operator and does not remove: a list of all that belongs to it,
// and a permission to read how the API server authenticates.
func leftByManager(home string) []client.Object {
	var left []client.Object
	for _, name := range []string{packageName, secondPackage} {
		left = append(left,
			&operatorsv1.Operator{ObjectMeta: metav1.ObjectMeta{Name: name + "." + home}},
			&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name + "-service-auth-reader"}})
	}
	return left
}
