package core_test

import (
	"context"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/core"
	"github.com/critical-service/operator/workloads/internal/operator"
)

var cluster *testenv.Cluster

// The core is not installed at first.
func TestMain(m *testing.M) {
	testenv.MainOf(m, testenv.Installation{
		Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name,
		Conversion: func() (http.Handler, error) { return http.NotFoundHandler(), nil },
	}, controllers.Scheme, &cluster, func(context.Context) error { return nil })
}

// follow starts what follows the core, with the permissions of the operator.
func follow(t *testing.T) *core.Presence {
	t.Helper()
	var presence *core.Presence
	running := cluster.Start(t, testenv.Program{
		Cache: cache.Options{ByObject: core.CacheByObject()},
		Setup: func(ctx context.Context, mgr ctrl.Manager) (err error) {
			presence, err = core.NewPresence(ctx, mgr.GetCache())
			return err
		},
	})
	t.Cleanup(func() { running.Stop(t) })
	return presence
}

// The core comes and goes while this operator runs, and an operator that starts then
// knows it from the first moment on.
func TestTheCoreComesAndGoes(t *testing.T) {
	w := cluster.NewWorld(t)
	presence := follow(t)
	w.Expect(presence.Available()).To(BeFalse(), "it is not installed")
	changed := presence.Changed()
	w.Expect(changed).NotTo(BeClosed())

	objects, err := testenv.ReadYAML(testenv.Path("config/crd/bases/mycrd.com_servicefallbacks.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(cluster.Client.Create(t.Context(), objects[0])).To(Succeed())
	w.Eventually(changed).Should(BeClosed(), "its arrival wakes")
	w.Expect(presence.Available()).To(BeTrue())

	changed = presence.Changed()
	later := follow(t)
	w.Expect(later.Available()).To(BeTrue(), "there is no moment in which workloads would seem unprotected")
	w.Expect(changed).NotTo(BeClosed(), "and nothing has changed for the first")

	w.Expect(cluster.Client.Delete(t.Context(), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: core.Definition}})).To(Succeed())
	w.Eventually(changed).Should(BeClosed(), "its removal wakes")
	w.Expect(presence.Available()).To(BeFalse())
	w.Eventually(func() bool { return testenv.Gone(t.Context(), cluster.Client, objects[0]) }).Should(BeTrue(), "so that the test can be repeated")
}
