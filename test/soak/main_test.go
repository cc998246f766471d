//go:build e2e

package soak

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
)

const (
	// fieldManager is that of the end-to-end tests, which install the same: what one manager does not apply any more
	// goes, and what two have applied would stay.
	fieldManager = "critical-service-e2e"

	// soon is how long the run waits for what must come about, on a busy machine.
	soon = 3 * time.Minute
)

var operator = client.ObjectKey{Namespace: "critical-service-system", Name: "critical-service-operator"}

// The settings of the run.
var (
	shared                *cluster.Cluster
	demoImage, reportFile string
	length                time.Duration
	seed                  uint64
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	flag.Parse()
	err := configure()
	if err == nil {
		err = prepare(context.Background())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "soak: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// configure reads SOAK and SEED, which a user may give.
func configure() error {
	var err error
	if length, err = time.ParseDuration(os.Getenv("SOAK")); err != nil || length < time.Minute {
		return fmt.Errorf("SOAK is %q: give how long faults are injected, at least 1m, for example 5m or 2h", os.Getenv("SOAK"))
	}
	seed = rand.Uint64()
	if given := os.Getenv("SEED"); given != "" {
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			return fmt.Errorf("SEED is %q: give the number that an earlier run has printed, or none", given)
		}
	}
	fmt.Printf("soak: SOAK=%s SEED=%d\n", length, seed)
	return nil
}

func prepare(ctx context.Context) error {
	kubeconfig, manifest := os.Getenv("KUBECONFIG"), os.Getenv("SOAK_MANIFEST")
	demoImage, reportFile = os.Getenv("DEMO_IMG"), os.Getenv("SOAK_REPORT")
	if kubeconfig == "" || manifest == "" || demoImage == "" || reportFile == "" {
		return errors.New("KUBECONFIG (the cluster), SOAK_MANIFEST (the rendered config/default), DEMO_IMG (the image of test/workload) " +
			"and SOAK_REPORT (the file of the report) must be set: run 'make soak', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	if err := shared.AddressesAreRouted(ctx); err != nil {
		return err
	}
	if err := shared.ApplyFile(ctx, fieldManager, manifest); err != nil {
		return err
	}
	return shared.AwaitDeployment(ctx, operator, soon)
}
