//go:build e2e

package olm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	"github.com/operator-framework/api/pkg/operators/v1alpha1"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
)

const (
	packageName    = "critical-service-operator"
	channel        = "stable-v1"
	deploymentName = "critical-service-operator"
	registry       = "quay.io/critical-service/"

	// soon is how long a story waits for what must come about: the operator asks again after 30 s for
	// what a person must allow, and on a busy machine a Pod takes its time to start.
	soon = 2 * time.Minute
	// installLimit is how long OLM may take: it starts a catalog, unpacks a bundle in a Job, and asks
	// again, with growing pauses, whatever was not ready yet.
	installLimit = 6 * time.Minute
)

// What 'make e2e-olm' provides: see hack/e2e-olm.sh.
var (
	shared *cluster.Cluster
	// live can also watch.
	live client.WithWatch
	// demoImage is what the Pods of Services run.
	demoImage string
	// devcluster runs programs where the registry is reached under the images' real names, and sdk is
	// the operator-sdk.
	devcluster, sdk string
	// previous is the version from which is upgraded, and current the one to which.
	previous, current release
)

// release is a version of the operator in the catalog.
type release string

func (r release) csv() string { return packageName + ".v" + string(r) }

func (r release) operatorImage() string { return registry + "operator:v" + string(r) }

func (r release) bundleImage() string { return registry + "operator-bundle:v" + string(r) }

// catalogImage is a catalog in which this version is the newest.
func (r release) catalogImage() string { return registry + "operator-catalog:e2e-v" + string(r) }

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(300 * time.Millisecond)
	SetDefaultConsistentlyDuration(5 * time.Second)
	SetDefaultConsistentlyPollingInterval(300 * time.Millisecond)
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "e2e-olm: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepare(ctx context.Context) error {
	var from, to string
	for variable, value := range map[string]*string{
		"DEMO_IMG": &demoImage, "OLM_DEVCLUSTER": &devcluster, "OLM_SDK": &sdk,
		"OLM_PREVIOUS": &from, "OLM_CURRENT": &to,
	} {
		if *value = os.Getenv(variable); *value == "" {
			return fmt.Errorf("%s is not set: run 'make e2e-olm', which sets it", variable)
		}
	}
	previous, current = release(from), release(to)
	var err error
	if shared, err = cluster.Connect(os.Getenv("KUBECONFIG")); err != nil {
		return err
	}
	scheme := shared.Scheme()
	add := []func() error{
		func() error { return operatorsv1.AddToScheme(scheme) },
		func() error { return v1alpha1.AddToScheme(scheme) },
		func() error { return operatorsv2.AddToScheme(scheme) },
		func() error { return apiextensionsv1.AddToScheme(scheme) },
	}
	for _, one := range add {
		if err := one(); err != nil {
			return err
		}
	}
	if live, err = client.NewWithWatch(shared.Config, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	return managerRuns(ctx)
}

// managerRuns finds out whether the cluster has OLM.
func managerRuns(ctx context.Context) error {
	var versions v1alpha1.ClusterServiceVersionList
	if err := live.List(ctx, &versions, client.InNamespace("olm")); err != nil {
		return fmt.Errorf("the cluster has no OLM: run 'make e2e-olm', which installs it: %w", err)
	}
	for _, version := range versions.Items {
		if version.Name == "packageserver" && version.Status.Phase == v1alpha1.CSVPhaseSucceeded {
			return nil
		}
	}
	return errors.New("OLM does not run: its own packageserver is not installed; run 'bin/devcluster olm up'")
}
