package operator_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/internal/settings"
)

var cluster *testenv.Cluster

// TestMain lets each operator of a test be a process of its own, as in production. Their
// permissions are those that config/rbac grants.
func TestMain(m *testing.M) {
	process.Main(runOperator, func() int {
		testenv.MainOf(m, testenv.Installation{
			Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name,
			Definitions: []string{"config/crd/bases"},
			Conversion:  func() (http.Handler, error) { return http.NotFoundHandler(), nil },
			// Here the API server reaches an operator by a URL, which it writes into its definition.
			Unbound: []string{"trust.yaml"},
		}, controllers.Scheme, &cluster, func(context.Context) error { return nil })
		return 0
	})
}

func runOperator(ctx context.Context) error {
	s, err := settings.Bind(pflag.NewFlagSet("manager", pflag.ContinueOnError), os.LookupEnv)()
	if err != nil {
		return err
	}
	return operator.Run(ctx, s)
}

// world is one test's hands.
type world struct {
	*WithT
	t *testing.T
	// team is a namespace of its own: nothing removes here what an earlier test's objects own.
	team string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{WithT: NewWithT(t), t: t}
	w.SetDefaultEventuallyTimeout(time.Minute)
	w.SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	t.Cleanup(func() {
		w.Expect(client.IgnoreNotFound(cluster.Client.Delete(context.WithoutCancel(t.Context()), lease()))).To(Succeed())
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "team-"}}
	w.Expect(cluster.Client.Create(t.Context(), namespace)).To(Succeed())
	w.team = namespace.Name
	return w
}

// start starts an operator with variables. It stops with the test, and well.
func (w *world) start(variables ...string) *process.Process {
	w.t.Helper()
	file := filepath.Join(w.t.TempDir(), "kubeconfig")
	w.Expect(os.WriteFile(file, cluster.OperatorKubeconfig, 0o600)).To(Succeed())
	return process.Start(w.t, file, operator.Namespace, variables...)
}

// create makes an object that goes with the test, which the API server allows once it reaches the webhook.
func (w *world) create(object client.Object) {
	w.t.Helper()
	w.Eventually(func() error { return cluster.Client.Create(w.t.Context(), object) }).Should(Succeed())
	w.t.Cleanup(func() {
		w.Expect(client.IgnoreNotFound(cluster.Client.Delete(context.WithoutCancel(w.t.Context()), object))).To(Succeed())
	})
}

func lease() *coordinationv1.Lease {
	lease := &coordinationv1.Lease{}
	lease.Namespace, lease.Name = operator.Namespace, "critical-service-workloads"
	return lease
}

// holder is the Pod that leads; empty if none does.
func (w *world) holder() string {
	w.t.Helper()
	lease := lease()
	w.Expect(client.IgnoreNotFound(cluster.Client.Get(w.t.Context(), client.ObjectKeyFromObject(lease), lease))).To(Succeed())
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}
