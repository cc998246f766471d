//go:build e2e

package monitoring_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
)

const (
	// namespace is where Prometheus is, and account its ServiceAccount, as in docs/metrics.md.
	namespace, account = "monitoring", "prometheus-k8s"
	// module is where the Prometheus operator is pinned.
	module = "hack/devcluster/components/prometheus-operator"
)

var (
	cluster *testenv.Cluster
	// programs is the folder of prometheus-operator, prometheus and promtool.
	programs = os.Getenv("MONITORING_PROGRAMS")
)

// TestMain lets the operator be a process of its own, as in production.
func TestMain(m *testing.M) {
	process.Main(runOperator, func() int {
		testenv.Main(m, scheme, &cluster, prepare)
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

func scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme, apiextensionsv1.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}

// prepare installs the Prometheus operator, but for its Deployment, and gives it and a Prometheus the permissions
// that its documents give them. Prometheus has that of docs/metrics.md besides.
func prepare(ctx context.Context) error {
	if programs == "" {
		return errors.New("MONITORING_PROGRAMS must be the folder of prometheus-operator, prometheus and promtool: run `make monitoring`, which sets it")
	}
	definitions, err := exec.CommandContext(ctx, filepath.Join(programs, "prometheus-operator"), "crds").Output()
	if err != nil {
		return fmt.Errorf("ask prometheus-operator for its definitions: %w", err)
	}
	folder, err := os.MkdirTemp("", "monitoring-test-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "crds.yaml"), definitions, 0o600); err != nil {
		return err
	}
	if _, err := envtest.InstallCRDs(cluster.Admin, envtest.CRDInstallOptions{Paths: []string{folder}, MaxTime: 5 * time.Minute}); err != nil {
		return fmt.Errorf("install the definitions of prometheus-operator: %w", err)
	}
	output, err := exec.CommandContext(ctx, "go", "-C", testenv.Path(module), "list", "-m", "-f", "{{.Dir}}", "github.com/prometheus-operator/prometheus-operator").Output()
	if err != nil {
		return fmt.Errorf("find the examples of prometheus-operator: %w", err)
	}
	for _, file := range []string{
		"prometheus-operator/prometheus-operator-cluster-role.yaml", "prometheus-operator/prometheus-operator-cluster-role-binding.yaml",
		"prometheus/prometheus-cluster-role.yaml",
	} {
		objects, err := testenv.ReadYAML(filepath.Join(strings.TrimSpace(string(output)), "example/rbac", file))
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := cluster.Client.Create(ctx, object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	if err := cluster.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	return errors.Join(bind(ctx, "prometheus"), bind(ctx, "critical-service-metrics-reader"))
}

// bind gives Prometheus a ClusterRole.
func bind(ctx context.Context, role string) error {
	return cluster.Client.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: account + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}},
	})
}
