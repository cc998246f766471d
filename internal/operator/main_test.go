package operator_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
)

const operatorNamespace = "critical-service-system"

var (
	// admin may do everything.
	admin client.Client
	// adminConfig is its configuration.
	adminConfig *rest.Config
	// kubeconfig is a file with the operator's permissions, and bundled one with those that the bundle for OLM asks for.
	kubeconfig, bundled string
)

// TestMain lets each operator of a test be a process of its own, as in production.
func TestMain(m *testing.M) {
	process.Main(runOperator, func() int { return runTests(m) })
}

func runOperator(ctx context.Context) error {
	s, err := settings.Bind(pflag.NewFlagSet("manager", pflag.ContinueOnError), os.LookupEnv)()
	if err != nil {
		return err
	}
	return operator.Run(ctx, s)
}

func runTests(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		log.Print("these tests need etcd and kube-apiserver: run them with `make test`, " +
			"or set KUBEBUILDER_ASSETS to the folder that holds both")
		return 1
	}
	environment := &envtest.Environment{
		CRDDirectoryPaths: definitionsOfTeams, CRDInstallOptions: envtest.CRDInstallOptions{MaxTime: 5 * time.Minute},
		ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: 5 * time.Minute,
	}
	config, err := environment.Start()
	defer func() { log.Print(errors.Join(environment.Stop(), os.RemoveAll(filepath.Dir(kubeconfig)))) }()
	if err == nil {
		err = prepare(environment, config)
	}
	if err != nil {
		log.Print(err)
		return 1
	}
	return m.Run()
}

// prepare installs what config/ installs, but for the CustomResourceDefinition
// and the Deployment, and makes the operator's user.
func prepare(environment *envtest.Environment, config *rest.Config) error {
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(corev1.AddToScheme, coordinationv1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme,
		admissionregistrationv1.AddToScheme, criticalv1.AddToScheme, criticalv2.AddToScheme, operatorsv2.AddToScheme)
	err := known.AddToScheme(scheme)
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	adminConfig = config
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	for _, file := range []string{
		"manager/namespace.yaml", "rbac/role.yaml", "rbac/role_binding.yaml", "rbac/certificates_role_binding.yaml",
		"rbac/namespaces_role_binding.yaml", "rbac/pod_templates_role_binding.yaml",
	} {
		objects, err := testenv.ReadYAML(filepath.Join("../../config", file))
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := admin.Create(context.Background(), object); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	account, err := grantAsOLM()
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "operator-test-")
	if err != nil {
		return err
	}
	kubeconfig, bundled = filepath.Join(folder, "kubeconfig"), filepath.Join(folder, "kubeconfig-of-olm")
	return errors.Join(addAccount(environment, "critical-service-operator", kubeconfig), addAccount(environment, account, bundled))
}

// addAccount writes a kubeconfig of a ServiceAccount in the operator's namespace.
func addAccount(environment *envtest.Environment, name, file string) error {
	account := envtest.User{
		Name:   "system:serviceaccount:" + operatorNamespace + ":" + name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + operatorNamespace},
	}
	user, err := environment.AddUser(account, &rest.Config{})
	if err != nil {
		return err
	}
	data, err := user.KubeConfig()
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o600)
}

// grantAsOLM gives a ServiceAccount what the bundle asks for, all of it in every namespace, as OLM does.
func grantAsOLM() (name string, err error) {
	var bundle v1alpha1.ClusterServiceVersion
	data, err := os.ReadFile("../../bundle/manifests/critical-service-operator.clusterserviceversion.yaml")
	if err != nil {
		return "", err
	}
	if err := yaml.Unmarshal(data, &bundle); err != nil {
		return "", err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "installed-by-olm"}}
	strategy := bundle.Spec.InstallStrategy.StrategySpec
	for _, permissions := range append(strategy.ClusterPermissions, strategy.Permissions...) {
		role.Rules = append(role.Rules, permissions.Rules...)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: role.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: operatorNamespace, Name: role.Name}},
	}
	return role.Name, errors.Join(admin.Create(context.Background(), role), admin.Create(context.Background(), binding))
}

// borrow makes an object that goes with the test, which may run again.
func borrow(t *testing.T, object client.Object) {
	t.Helper()
	g := NewWithT(t)
	g.Expect(admin.Create(t.Context(), object)).To(Succeed())
	t.Cleanup(func() {
		g.Expect(client.IgnoreNotFound(admin.Delete(context.WithoutCancel(t.Context()), object))).To(Succeed())
	})
}
