package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/access"
	"github.com/critical-service/operator/cmd/kubectl-critsvc/internal/plugin"
)

// The API server of all tests, to which KUBECONFIG leads, and a client that may do
// everything.
var (
	environment *envtest.Environment
	admin       client.WithWatch
	// uninstalled is what the plugin says of a cluster without the operator.
	uninstalled outcome
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	SetDefaultEventuallyTimeout(time.Minute)
	folder, err := os.MkdirTemp("", "critsvc-")
	if err != nil {
		log.Fatal(err)
	}
	code := 1
	if err := start(folder); err != nil {
		log.Print(err)
	} else {
		code = m.Run()
	}
	if err := errors.Join(environment.Stop(), os.RemoveAll(folder)); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

func start(folder string) error {
	environment = &envtest.Environment{ControlPlaneStartTimeout: 5 * time.Minute, ControlPlaneStopTimeout: 5 * time.Minute}
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return errors.New("these tests need etcd and kube-apiserver: run them with `make test`, " +
			"or set KUBEBUILDER_ASSETS to the folder that holds both")
	}
	config, err := environment.Start()
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	if err := errors.Join(os.WriteFile(kubeconfig, environment.KubeConfig, 0o600), os.Setenv("KUBECONFIG", kubeconfig)); err != nil {
		return err
	}
	uninstalled = run(context.Background(), "status", "-A")

	_, err = envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: []string{filepath.Join("..", "..", "..", "..", "config", "crd", "bases")}, ErrorIfPathMissing: true})
	if err != nil {
		return err
	}
	scheme, err := access.Scheme()
	if err != nil {
		return err
	}
	admin, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	return err
}

// outcome is what a command line gave.
type outcome struct {
	code        int
	out, errOut string
}

// run carries out a command line.
func run(ctx context.Context, arguments ...string) outcome {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut}
	code := plugin.Run(ctx, streams, arguments)
	return outcome{code: code, out: out.String(), errOut: errOut.String()}
}
