package ingress_test

import (
	"context"
	"net/http"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

var cluster *testenv.Cluster

var installed = testenv.Installation{
	Config: "workloads/config", Namespace: "critical-service-workloads-system", Account: workloadsv1.ManagedBy,
	Conversion: func() (http.Handler, error) { return http.NotFoundHandler(), nil },
}

// The operator has its own permissions and those of the component, and no others.
func TestMain(m *testing.M) {
	testenv.MainOf(m, installed, scheme, &cluster, func(ctx context.Context) error {
		objects, err := testenv.ReadYAML(testenv.Path("workloads/config/ingress/role.yaml"))
		for _, object := range objects {
			if err == nil {
				err = cluster.Client.Create(ctx, object)
			}
		}
		return err
	})
}

func scheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, clientgoscheme.AddToScheme(scheme)
}
