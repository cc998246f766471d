//go:build e2e

package e2e

import (
	"context"
	"errors"
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
	fieldManager = "critical-service-workloads-e2e"

	// installLimit is generous: the image may have to be pulled first.
	installLimit = 3 * time.Minute
	// soon is how long a scenario waits for what must come about.
	soon = 90 * time.Second
	// awhile is how long a scenario looks on to see that something does not come about.
	awhile = 5 * time.Second
)

var (
	core      = client.ObjectKey{Namespace: "critical-service-system", Name: "critical-service-operator"}
	workloads = client.ObjectKey{Namespace: "critical-service-workloads-system", Name: "critical-service-workloads"}

	// shared is the cluster of all scenarios.
	shared *cluster.Cluster
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	SetDefaultConsistentlyDuration(awhile)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// prepare installs both operators, and waits until they run.
func prepare(ctx context.Context) error {
	kubeconfig, manifest, own := os.Getenv("KUBECONFIG"), os.Getenv("E2E_MANIFEST"), os.Getenv("E2E_WORKLOADS_MANIFEST")
	if kubeconfig == "" || manifest == "" || own == "" {
		return errors.New("KUBECONFIG (the cluster), E2E_MANIFEST (the rendered config/default) and E2E_WORKLOADS_MANIFEST " +
			"(the rendered workloads/config/default) must be set: run 'make e2e-workloads', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	if err := shared.AddressesAreRouted(ctx); err != nil {
		return err
	}
	for _, path := range []string{manifest, own} {
		if err := shared.ApplyFile(ctx, fieldManager, path); err != nil {
			return err
		}
	}
	return errors.Join(shared.AwaitDeployment(ctx, core, installLimit), shared.AwaitDeployment(ctx, workloads, installLimit))
}
