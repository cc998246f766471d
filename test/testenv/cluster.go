package testenv

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// AtOnce is how many tests of a package run at the same time. They wait more than they compute; but where many stories are
// lived at once, two CPUs do not suffice for 16, and waits of a minute become too short.
const AtOnce = 10

// Cluster is an API server that knows the project's kinds.
type Cluster struct {
	// Client may do everything.
	Client client.WithWatch
	// Admin is the configuration of Client.
	Admin *rest.Config
	// OperatorKubeconfig is a kubeconfig file with the operator's permissions.
	OperatorKubeconfig []byte

	// FrontProxy is a folder with the certificate, front-proxy.crt and front-proxy.key, by which the
	// API server is known to those whose APIs it aggregates; empty if it aggregates none.
	FrontProxy string

	scheme      *apiruntime.Scheme
	operator    *rest.Config
	environment *envtest.Environment
}

// Parallel lets so many tests of a package begin, unless the command line says by -parallel how many.
func Parallel(count int) {
	flag.Parse()
	if flag.Lookup("test.parallel").Value.String() != fmt.Sprint(runtime.GOMAXPROCS(0)) {
		return
	}
	if err := flag.Set("test.parallel", fmt.Sprint(count)); err != nil {
		log.Fatal(err)
	}
}

// Main runs the tests of a package of the core with a cluster, after it has been prepared.
// It is all that a TestMain does.
func Main(m *testing.M, scheme func() (*apiruntime.Scheme, error), cluster **Cluster, prepare func(context.Context) error) {
	MainOf(m, core, scheme, cluster, prepare)
}

// MainOf is Main for the tests of another operator.
func MainOf(m *testing.M, installed Installation, scheme func() (*apiruntime.Scheme, error), cluster **Cluster, prepare func(context.Context) error) {
	Parallel(AtOnce)
	ctrl.SetLogger(logr.Discard()) // Operators have logs of their own.
	known, err := scheme()
	if err != nil {
		log.Fatal(err)
	}
	if *cluster, err = Start(installed, known); err != nil {
		log.Fatal(err)
	}
	code := 1
	if err := prepare(context.Background()); err != nil {
		log.Print(err)
	} else {
		code = m.Run()
	}
	if err := (*cluster).Stop(); err != nil {
		log.Print(err)
	}
	os.Exit(code)
}

// Start starts etcd and an API server, and installs an operator without running it.
func Start(installed Installation, scheme *apiruntime.Scheme) (*Cluster, error) {
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		return nil, errors.New("these tests need etcd and kube-apiserver: run them with `make test`, " +
			"or set KUBEBUILDER_ASSETS to the folder that holds both")
	}
	webhooks, err := placeOfConversion()
	if err != nil {
		return nil, err
	}
	environment := &envtest.Environment{
		Scheme:                   scheme,
		CRDDirectoryPaths:        installed.definitions(),
		CRDInstallOptions:        envtest.CRDInstallOptions{MaxTime: 5 * time.Minute}, // The default, 10 s, is short at load 20.
		ErrorIfCRDPathMissing:    true,
		WebhookInstallOptions:    webhooks,
		ControlPlaneStartTimeout: 5 * time.Minute,
		ControlPlaneStopTimeout:  5 * time.Minute,
	}
	// OpenShift turns this plug-in on; it asks for more permissions of clients that
	// set owner references.
	environment.ControlPlane.GetAPIServer().Configure().Append("enable-admission-plugins", "OwnerReferencesPermissionEnforcement").
		// The range of envtest is full with 254 Services.
		Set("service-cluster-ip-range", "10.0.0.0/16,fd00:10::/108")
	folder, err := installed.configure(environment.ControlPlane.GetAPIServer())
	if err != nil {
		return nil, err
	}
	config, err := environment.Start()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start etcd and kube-apiserver: %w", err), environment.Stop())
	}
	cluster := &Cluster{Admin: unlimited(config), FrontProxy: folder, scheme: scheme, environment: environment}
	if err := errors.Join(serveConversion(installed.Conversion, environment.WebhookInstallOptions), cluster.prepare(installed)); err != nil {
		return nil, errors.Join(err, environment.Stop())
	}
	return cluster, nil
}

// Stop ends what Start has started.
func (c *Cluster) Stop() error {
	var err error
	if c.FrontProxy != "" {
		err = os.RemoveAll(c.FrontProxy)
	}
	return errors.Join(err, c.environment.Stop())
}

// Refusal is why an API server refused an object, in the words that the newest has for what is too long.
func Refusal(err error) string {
	return strings.ReplaceAll(err.Error(), "may not be longer than", "may not be more than")
}

// prepare makes the clients, and the operator's user with its permissions.
func (c *Cluster) prepare(installed Installation) error {
	admin, err := client.NewWithWatch(c.Admin, client.Options{Scheme: c.scheme})
	if err != nil {
		return err
	}
	c.Client = readsAgain(admin)
	if err := c.grant(context.Background(), installed); err != nil {
		return fmt.Errorf("give the operator its permissions: %w", err)
	}
	user, err := c.environment.AddUser(installed.user(), &rest.Config{})
	if err != nil {
		return err
	}
	c.operator = unlimited(user.Config())
	c.OperatorKubeconfig, err = user.KubeConfig()
	return err
}

// readsAgain is a client that reads once more if the API server gave no answer: it may reset a stream when it is busy,
// which says nothing about the operator.
func readsAgain(admin client.WithWatch) client.WithWatch {
	again := func(read func() error) error {
		err := read()
		if status := apierrors.APIStatus(nil); err == nil || errors.As(err, &status) {
			return err
		}
		return read()
	}
	return interceptor.NewClient(admin, interceptor.Funcs{
		Get: func(ctx context.Context, admin client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return again(func() error { return admin.Get(ctx, key, object, options...) })
		},
		List: func(ctx context.Context, admin client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return again(func() error { return admin.List(ctx, list, options...) })
		},
	})
}

// unlimited leaves the rate of requests to the API server, as production does.
func unlimited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, 0
	return config
}

// Path is the path of a file of the repository.
func Path(name string) string {
	_, thisFile, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(thisFile), "../..", name)
}
