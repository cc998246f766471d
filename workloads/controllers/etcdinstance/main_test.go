package etcdinstance_test

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
)

var cluster *testenv.Cluster

// installed is this operator, beside the definitions of the core, whose kinds these tests
// do not convert.
var installed = testenv.Installation{
	Config: "workloads/config", Namespace: "critical-service-workloads-system", Account: workloadsv1.ManagedBy,
	Definitions: []string{"config/crd/bases"},
	Policies:    []string{"own.yaml", "pods.yaml"},
	Conversion:  func() (http.Handler, error) { return http.NotFoundHandler(), nil },
}

func TestMain(m *testing.M) {
	testenv.MainOf(m, installed, scheme, &cluster, func(context.Context) error { return nil })
}

func scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme, workloadsv1alpha1.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}
