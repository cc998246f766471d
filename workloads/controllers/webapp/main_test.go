package webapp_test

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

var cluster *testenv.Cluster

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
	add := runtime.NewSchemeBuilder(clientgoscheme.AddToScheme, criticalv2.AddToScheme, workloadsv1.AddToScheme, workloadsv2.AddToScheme)
	return scheme, add.AddToScheme(scheme)
}
