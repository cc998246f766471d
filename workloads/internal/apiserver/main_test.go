package apiserver_test

import (
	"context"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/operator"
	"github.com/critical-service/operator/workloads/test/aggregated"
)

const (
	// requestTimeout names a variable with the time after which kube-apiserver cuts a request. Its
	// own default is 60s, with which these tests pass as well, and take as much longer.
	requestTimeout = "TEST_REQUEST_TIMEOUT"
	usualTimeout   = "15s"

	group     = "subresources.mycrd.com"
	namespace = aggregated.Namespace
	instance  = aggregated.Instance

	// mebibytes is how much the etcd holds: more than fits into the buffers between a member and a
	// client, so that a client that does not read holds the stream up.
	mebibytes, dataSize = 48, 48 << 20
)

var (
	cluster *testenv.Cluster
	setup   *aggregated.Setup

	backupURL = etcd.Path(etcd.Subresources, namespace, instance, etcd.Backup)
)

// TestMain lets each API server of a test be a process of its own, so that it can be killed.
func TestMain(m *testing.M) {
	process.Main(aggregated.Serve, func() int {
		testenv.MainOf(m, testenv.Installation{
			Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name,
			Definitions: []string{"config/crd/bases"},
			Conversion:  func() (http.Handler, error) { return http.NotFoundHandler(), nil },
			Aggregates:  true,
			Flags:       map[string]string{"request-timeout": cutAfter().String()},
		}, controllers.Scheme, &cluster, func(ctx context.Context) (err error) {
			setup, err = aggregated.Prepare(ctx, cluster, mebibytes)
			return err
		})
		return 0
	})
}

// cutAfter is when kube-apiserver cuts a request.
func cutAfter() time.Duration {
	text, isSet := os.LookupEnv(requestTimeout)
	if !isSet {
		text = usualTimeout
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return parsed
}
