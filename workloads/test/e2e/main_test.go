//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

const (
	fieldManager = "critical-service-workloads-e2e"

	// coreManifest is the environment variable with the path of what installs the core.
	coreManifest = "E2E_MANIFEST"

	// installLimit is generous: the image may have to be pulled first.
	installLimit = 3 * time.Minute
	// soon is how long a scenario waits for what must come about.
	soon = 90 * time.Second
	// awhile is how long a scenario looks on to see that something does not come about.
	awhile = 5 * time.Second

	// tick is how often a scenario looks where a moment matters.
	tick = 10 * time.Millisecond

	// scenariosAtOnce is how many scenarios run at once: they wait more than they compute.
	scenariosAtOnce = 3
	// testsAtOnce is the default of -parallel: all.
	testsAtOnce = "64"
)

// update writes what is measured into the documents.
var update = flag.Bool("update", false, "write what was measured into docs/webapp.md and docs/images/webapp-traffic.svg")

var (
	core      = client.ObjectKey{Namespace: "critical-service-system", Name: "critical-service-operator"}
	workloads = client.ObjectKey{Namespace: "critical-service-workloads-system", Name: "critical-service-workloads"}

	// shared is the cluster of all scenarios.
	shared *cluster.Cluster
	// kubectl, plugin and mongoDB are the paths of programs: kubectl, kubectl-critsvc, and the folder of MongoDB's clients.
	kubectl, plugin, mongoDB string
	// demoImage is what the Pods of scenarios run.
	demoImage string
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	SetDefaultConsistentlyDuration(awhile)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	flag.Parse()
	parallelByDefault()
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
		os.Exit(1)
	}
	os.Exit(withOwnCache(m.Run))
}

// withOwnCache runs the tests with a discovery cache of kubectl that is theirs: for hours it would know of API groups
// that an earlier run had.
func withOwnCache(run func() int) int {
	folder, err := os.MkdirTemp("", "kubectl-cache-")
	if err == nil {
		err = os.Setenv("KUBECACHEDIR", folder)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	return run()
}

func parallelByDefault() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", testsAtOnce)
	}
}

// prepare installs both operators, and waits until they run.
func prepare(ctx context.Context) error {
	kubeconfig, manifest, own := os.Getenv("KUBECONFIG"), os.Getenv(coreManifest), os.Getenv("E2E_WORKLOADS_MANIFEST")
	kubectl, plugin, mongoDB, demoImage = os.Getenv("E2E_KUBECTL"), os.Getenv("E2E_PLUGIN"), os.Getenv("E2E_MONGODB"), os.Getenv("DEMO_IMG")
	if slices.Contains([]string{kubeconfig, manifest, own, kubectl, plugin, mongoDB, demoImage}, "") {
		return errors.New("KUBECONFIG (the cluster), E2E_MANIFEST (the rendered config/default), E2E_WORKLOADS_MANIFEST " +
			"(the rendered workloads/config/default), E2E_KUBECTL and E2E_PLUGIN (the paths of kubectl and kubectl-critsvc), E2E_MONGODB " +
			"(what test/mongodb/build.sh prints) and DEMO_IMG (the image of test/workload) must be set: run 'make e2e-workloads', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig, workloadsv1.AddToScheme, workloadsv1alpha1.AddToScheme, workloadsv2.AddToScheme); err != nil {
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
