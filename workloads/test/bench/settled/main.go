// Command settled measures what the workloads operator costs while nothing happens: with many
// Databases and AppConfigs that are as they are to be, it should write nothing, and hardly
// take CPU and memory.
//
// It starts etcd and an API server of its own, and the operator as a process with the
// permissions and the settings that it is installed with. What else a cluster has, this
// program does by hand: Pods run, claims are bound, Deployments have rolled out, and the core
// says that every Service is armed.
//
//	world.go     what there is: namespaces, Databases, AppConfigs, Deployments that use them
//	hands.go     what kubelet, provisioner, controller manager and the core write
//	shipped.go   the environment that the operator is installed with
//	operator.go  the process that is measured
//	table.go     what was measured, in Markdown, and the targets
//
// run.sh in the folder above does all of it.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/document"
	"github.com/critical-service/operator/test/process"
	"github.com/critical-service/operator/test/testenv"
	"github.com/critical-service/operator/workloads/controllers"
	"github.com/critical-service/operator/workloads/internal/operator"
)

// block is where the table stands in the document.
const block = "bench settled"

type options struct {
	manager  string
	document string
	count    int
	length   time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctrllog.SetLogger(logr.Discard())
	if err := command().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:          "settled",
		Short:        "Measure the workloads operator while nothing happens",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(command *cobra.Command, _ []string) error { return run(command.Context(), o) },
	}
	flags := command.Flags()
	flags.StringVar(&o.manager, "manager", "bin/workloads/manager", "the operator's program")
	flags.StringVar(&o.document, "document", "", "Markdown file in which the table is put between its two marks")
	flags.IntVar(&o.count, "count", 500, "how many Databases there are, and how many AppConfigs")
	flags.DurationVar(&o.length, "length", time.Minute, "how long is measured")
	return command
}

func run(ctx context.Context, o options) (err error) {
	if o.count < 1 || o.length < time.Second {
		return errors.New("--count must be at least 1, and --length at least 1s")
	}
	scheme, err := controllers.Scheme()
	if err != nil {
		return err
	}
	say("Starting etcd and an API server")
	cluster, err := testenv.Start(installed, scheme)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.Stop()) }()
	folder, err := os.MkdirTemp("", "settled-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	kubeconfig := folder + "/kubeconfig"
	if err := os.WriteFile(kubeconfig, cluster.OperatorKubeconfig, 0o600); err != nil {
		return err
	}
	b := &bench{
		client: cluster.Client, world: "settled", count: o.count, length: o.length, calm: calmLength,
		start: func(variables ...string) (*process.Process, error) {
			return process.Launch(o.manager, kubeconfig, operator.Namespace, append(variables, "WEBHOOK_CERT_DIR="+folder)...)
		},
	}
	looks, err := b.measure(ctx)
	if err != nil {
		return err
	}
	version, err := testenv.Version(cluster.Admin)
	if err != nil {
		return err
	}
	verdicts := judge(looks)
	text := markdown(version, o, looks, verdicts)
	fmt.Print(text)
	return errors.Join(document.Publish(o.document, block, text), measure.Missed(os.Stderr, verdicts))
}

// installed is the operator beside the definitions of the core, whose kinds it writes. It
// converts by itself.
var installed = testenv.Installation{
	Config: "workloads/config", Namespace: operator.Namespace, Account: operator.Name,
	Definitions: []string{"config/crd/bases"},
	Conversion:  func() (http.Handler, error) { return http.NotFoundHandler(), nil },
	// As in the operator's own tests, the API server reaches it by a URL.
	Unbound: []string{"trust.yaml"},
}

// say reports progress.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
