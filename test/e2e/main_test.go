//go:build e2e

package e2e

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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/test/cluster"
)

const (
	operatorNamespace = "critical-service-system"
	operatorName      = "critical-service-operator"
	templateName      = "critical-service-pod-template"
	fieldManager      = "critical-service-e2e"
	partOfLabel       = "app.kubernetes.io/part-of"

	// installLimit is generous: the image may have to be pulled first.
	installLimit = 3 * time.Minute
	// soon is how long a scenario waits for what must come about. The operator asks again after 30 s
	// for what a person must allow, and starting a Pod takes its time on a busy machine.
	soon = 90 * time.Second
	// awhile is how long a scenario looks on to see that something does not come about.
	awhile = 5 * time.Second

	// scenariosAtOnce is the default of -parallel: scenarios wait more than they compute, but their clients need
	// the processors that start the Pods of all others.
	scenariosAtOnce = "4"
)

// operator is the Deployment of the operator.
var operator = client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}

// shared is the cluster of all scenarios, demoImage what their Pods run, and plugin the path of the
// kubectl plugin.
var (
	shared            *cluster.Cluster
	demoImage, plugin string
)

func TestMain(m *testing.M) {
	ctrllog.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	SetDefaultConsistentlyDuration(awhile)
	SetDefaultConsistentlyPollingInterval(200 * time.Millisecond)
	flag.Parse()
	parallelByDefault()

	ctx := context.Background()
	if err := prepare(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: %v\n", err)
		os.Exit(1)
	}
	code := m.Run()
	if err := deleteTemplate(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "e2e: PodTemplate %s/%s is left behind: %v\n", operatorNamespace, templateName, err)
	}
	os.Exit(code)
}

func parallelByDefault() {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		_ = flag.Set("test.parallel", scenariosAtOnce)
	}
}

func prepare(ctx context.Context) error {
	kubeconfig, manifest := os.Getenv("KUBECONFIG"), os.Getenv("E2E_MANIFEST")
	demoImage, plugin = os.Getenv("DEMO_IMG"), os.Getenv("E2E_PLUGIN")
	if kubeconfig == "" || manifest == "" || demoImage == "" || plugin == "" {
		return errors.New("KUBECONFIG (the cluster), E2E_MANIFEST (the rendered config/default), DEMO_IMG " +
			"(the image of test/workload) and E2E_PLUGIN (the path of kubectl-critsvc) must be set: run 'make e2e', which sets them")
	}
	var err error
	if shared, err = cluster.Connect(kubeconfig); err != nil {
		return err
	}
	if err := shared.AddressesAreRouted(ctx); err != nil {
		return err
	}
	if err := install(ctx, manifest); err != nil {
		return err
	}
	if err := templateIsOurs(ctx); err != nil {
		return err
	}
	return applyTemplate(ctx)
}

func install(ctx context.Context, manifest string) error {
	if err := shared.ApplyFile(ctx, fieldManager, manifest); err != nil {
		return err
	}
	return operatorRuns(ctx)
}

func operatorRuns(ctx context.Context) error {
	if err := shared.AwaitDeployment(ctx, operator, installLimit); err != nil {
		return err
	}
	return conversionWorks(ctx)
}

// conversionWorks waits until the API server reaches the operator's webhook, without which there is
// no version 1: kube-proxy follows a new Pod of the operator a moment later.
func conversionWorks(ctx context.Context) error {
	var last error
	look := func(ctx context.Context) (done bool, err error) {
		last = shared.Create(ctx, &criticalv1.CriticalService{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "e2e-conversion-"},
			Spec:       criticalv1.CriticalServiceSpec{MatchLabels: []criticalv1.LabelMatch{{Key: "critical", Value: "never"}}},
		}, client.DryRunAll)
		return last == nil, nil
	}
	if err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, soon, true, look); err != nil {
		return fmt.Errorf("objects of version 1 cannot be written after %s: %w", soon, last)
	}
	return nil
}

// templateIsOurs keeps the tests from overwriting the fallback of a cluster that is in real use.
func templateIsOurs(ctx context.Context) error {
	var template corev1.PodTemplate
	if err := shared.Get(ctx, client.ObjectKey{Namespace: operatorNamespace, Name: templateName}, &template); err != nil {
		return client.IgnoreNotFound(err)
	}
	if template.Labels[partOfLabel] == "critical-service-demo" {
		return nil
	}
	return fmt.Errorf("PodTemplate %s/%s is in real use: run the tests on a cluster of their own", operatorNamespace, templateName)
}

// applyTemplate replaces what there is: the fields of an earlier template must not stay.
func applyTemplate(ctx context.Context) error {
	if err := deleteTemplate(ctx); err != nil {
		return err
	}
	objects, err := readObjects("fallback.yaml")
	if err != nil {
		return err
	}
	return shared.Apply(ctx, fieldManager, objects...)
}

func deleteTemplate(ctx context.Context) error {
	template := &corev1.PodTemplate{}
	template.Namespace, template.Name = operatorNamespace, templateName
	return client.IgnoreNotFound(shared.Delete(ctx, template))
}
