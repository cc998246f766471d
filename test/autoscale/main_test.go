//go:build e2e

package autoscale

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/cluster"
)

const (
	// fieldManager is that of the end-to-end tests, which install the same: their next run takes the setting away.
	fieldManager = "critical-service-e2e"
	// most is RESPONDER_MAX_REPLICAS.
	most = 4

	// soon is how long the test waits for what must come about, on a busy machine.
	soon = 5 * time.Minute
	// later is the same for what an autoscaler does only after five minutes.
	later = 12 * time.Minute
)

var (
	operator = client.ObjectKey{Namespace: "critical-service-system", Name: "critical-service-operator"}
	shared   *cluster.Cluster
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(500 * time.Millisecond)
	if err := prepare(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "autoscale: %v\n", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func prepare(ctx context.Context) error {
	kubeconfig, manifest := os.Getenv("KUBECONFIG"), os.Getenv("AUTOSCALE_MANIFEST")
	if kubeconfig == "" || manifest == "" {
		return errors.New("KUBECONFIG (the cluster) and AUTOSCALE_MANIFEST (the rendered config/default) must be set: run 'make autoscale', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	if _, err := shared.Clientset.Discovery().ServerResourcesForGroupVersion("metrics.k8s.io/v1beta1"); err != nil {
		return fmt.Errorf("the cluster does not say what its Pods use: install metrics-server: %w", err)
	}
	if err := shared.AddressesAreRouted(ctx); err != nil {
		return err
	}
	content, err := os.ReadFile(manifest)
	if err != nil {
		return err
	}
	objects, err := cluster.Decode(content)
	if err != nil {
		return err
	}
	if err := letScale(objects); err != nil {
		return err
	}
	if err := shared.Apply(ctx, fieldManager, objects...); err != nil {
		return err
	}
	return shared.AwaitDeployment(ctx, operator, soon)
}

// letScale sets RESPONDER_MAX_REPLICAS in the operator's Deployment.
func letScale(objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != "Deployment" || object.GetName() != operator.Name {
			continue
		}
		path := []string{"spec", "template", "spec", "containers"}
		containers, _, err := unstructured.NestedSlice(object.Object, path...)
		if err != nil {
			return err
		}
		manager, ok := containers[0].(map[string]any)
		if !ok {
			return errors.New("the operator's container is no object")
		}
		env, _, err := unstructured.NestedSlice(manager, "env")
		if err != nil {
			return err
		}
		manager["env"] = append(env, map[string]any{"name": "RESPONDER_MAX_REPLICAS", "value": strconv.Itoa(most)})
		return unstructured.SetNestedSlice(object.Object, containers, path...)
	}
	return fmt.Errorf("the manifest has no Deployment %s", operator.Name)
}
