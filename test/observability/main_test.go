//go:build e2e

package observability

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
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
)

const (
	root              = "../.."
	operatorNamespace = "critical-service-system"
	operatorName      = "critical-service-operator"
	// fieldManager is that of the end-to-end tests, which install the same: what one manager does not
	// apply any more goes, and what two have applied would stay.
	fieldManager = "critical-service-e2e"

	// soon is how long the test waits for what must come about, on a busy machine.
	soon = 2 * time.Minute
)

var (
	update = flag.Bool("update", false, "redraw docs/images/outage-timeline.svg")

	shared    *cluster.Cluster
	demoImage string
	// programs is the folder of prometheus and promtool.
	programs string
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	flag.Parse()
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "observability: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepare(ctx context.Context) error {
	kubeconfig, manifest := os.Getenv("KUBECONFIG"), os.Getenv("OBSERVABILITY_MANIFEST")
	demoImage, programs = os.Getenv("DEMO_IMG"), os.Getenv("PROMETHEUS_PROGRAMS")
	if kubeconfig == "" || manifest == "" || demoImage == "" || programs == "" {
		return errors.New("KUBECONFIG (the cluster), OBSERVABILITY_MANIFEST (the rendered config/default), DEMO_IMG (the image of " +
			"test/workload) and PROMETHEUS_PROGRAMS (the folder of prometheus and promtool) must be set: run 'make observability', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	if err := shared.ApplyFile(ctx, fieldManager, manifest); err != nil {
		return err
	}
	return operatorRuns(ctx)
}

func operatorRuns(ctx context.Context) error {
	operator := client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}
	return shared.AwaitDeployment(ctx, operator, soon)
}

// scale sets the replicas of a Deployment.
func scale(ctx context.Context, key client.ObjectKey, replicas int32) error {
	return shared.Scale(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}, replicas)
}
