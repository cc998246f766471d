package chart_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
)

// asOperator in the environment makes this test program the operator.
const asOperator = "TEST_RUNS_OPERATOR"

var (
	// admin may do everything, and adminConfig reaches the API server as admin does.
	admin       client.Client
	adminConfig *rest.Config
	// kubeconfig is a file with the permissions of admin, and operatorKubeconfig and
	// secondKubeconfig those with what the charts give the operators.
	kubeconfig, operatorKubeconfig, secondKubeconfig string
)

func TestMain(m *testing.M) {
	if _, isOperator := os.LookupEnv(asOperator); isOperator {
		os.Exit(runOperator())
	}
	os.Exit(runTests(m))
}

func runOperator() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := settings.Bind(pflag.NewFlagSet("manager", pflag.ContinueOnError), os.LookupEnv)()
	if err == nil {
		err = operator.Run(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		return 1
	}
	return 0
}

func runTests(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		log.Print("these tests need etcd, kube-apiserver and kubectl: run them with `make test`, " +
			"or set KUBEBUILDER_ASSETS to the folder that holds them")
		return 1
	}
	folder, err := os.MkdirTemp("", "chart-test-")
	if err != nil {
		log.Print(err)
		return 1
	}
	environment := &envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: 5 * time.Minute}
	defer func() { log.Print(errors.Join(environment.Stop(), os.RemoveAll(folder))) }()
	config, err := environment.Start()
	if err == nil {
		err = prepare(environment, config, folder)
	}
	if err != nil {
		log.Print(err)
		return 1
	}
	return m.Run()
}

func prepare(environment *envtest.Environment, config *rest.Config, folder string) error {
	scheme := runtime.NewScheme()
	known := runtime.NewSchemeBuilder(corev1.AddToScheme, appsv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, authorizationv1.AddToScheme, discoveryv1.AddToScheme,
		admissionregistrationv1.AddToScheme, apiextensionsv1.AddToScheme, criticalv2.AddToScheme)
	err := known.AddToScheme(scheme)
	if err != nil {
		return err
	}
	adminConfig = config
	if admin, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	home := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := admin.Create(context.Background(), home); err != nil {
		return err
	}
	kubeconfig = filepath.Join(folder, "admin")
	operatorKubeconfig = filepath.Join(folder, "operator")
	secondKubeconfig = filepath.Join(folder, "second")
	users := map[string]envtest.User{
		kubeconfig:         {Name: "admin", Groups: []string{"system:masters"}},
		operatorKubeconfig: projects[0].account(),
		secondKubeconfig:   projects[1].account(),
	}
	for path, user := range users {
		added, err := environment.AddUser(user, &rest.Config{})
		if err != nil {
			return err
		}
		data, err := added.KubeConfig()
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// account is the operator as the API server knows it.
func (p project) account() envtest.User {
	return envtest.User{
		Name:   "system:serviceaccount:" + p.namespace + ":" + p.name,
		Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + p.namespace},
	}
}
