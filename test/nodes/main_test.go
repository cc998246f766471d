//go:build e2e

package nodes

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
)

const (
	// fieldManager is that of the end-to-end tests, which install the same.
	fieldManager = "critical-service-e2e"

	// soon is how long a scenario waits for what must come about. Kubernetes takes 50 s to notice that a node is lost.
	soon = 4 * time.Minute
)

var operator = client.ObjectKey{Namespace: "critical-service-system", Name: "critical-service-operator"}

// The settings of the run.
var (
	shared                         *cluster.Cluster
	demoImage, devcluster, kubectl string
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	flag.Parse()
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "nodes: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepare(ctx context.Context) error {
	kubeconfig, manifest := os.Getenv("KUBECONFIG"), os.Getenv("NODES_MANIFEST")
	demoImage, devcluster, kubectl = os.Getenv("DEMO_IMG"), os.Getenv("NODES_DEVCLUSTER"), os.Getenv("NODES_KUBECTL")
	if kubeconfig == "" || manifest == "" || demoImage == "" || devcluster == "" || kubectl == "" {
		return errors.New("KUBECONFIG, NODES_MANIFEST (the rendered config/default), DEMO_IMG (the image of test/workload), " +
			"NODES_DEVCLUSTER and NODES_KUBECTL (the programs) must be set: run 'make e2e-nodes', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	if err := shared.ApplyFile(ctx, fieldManager, manifest); err != nil {
		return err
	}
	return shared.AwaitDeployment(ctx, operator, soon)
}
