// Command demo is the program behind 'make demo': it installs the operator in a cluster, takes all
// Pods of a small web shop away and brings them back, and shows live who answers meanwhile.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"

	"github.com/critical-service/operator/test/cluster"
)

type options struct {
	kubeconfig     string
	image          string
	demoImage      string
	manifest       string
	nonInteractive bool
	keep           bool
}

func main() {
	// The demo says itself what goes wrong; the client library has nothing to add.
	ctrllog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "\ndemo: %v\n", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var o options
	root := &cobra.Command{
		Use:           "demo",
		Short:         "Show on a cluster how a Service that has lost all its Pods keeps answering",
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(command *cobra.Command, _ []string) error {
			d, err := connect(o)
			if err != nil {
				return err
			}
			return d.run(command.Context())
		},
	}
	persistent := root.PersistentFlags()
	persistent.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file of the cluster (default: $KUBECONFIG, else ~/.kube/config)")
	persistent.BoolVar(&o.nonInteractive, "non-interactive", false, "ask nothing and draw plainly, also on a terminal")
	flags := root.Flags()
	flags.StringVar(&o.image, "image", "", "image of the operator, to be shown only: the manifest decides")
	flags.StringVar(&o.demoImage, "demo-image", defaultDemoImage, "image of the shop, the fallback and the prober")
	flags.StringVar(&o.manifest, "manifest", "", "manifest that installs the operator; without it, the operator must be there")
	flags.BoolVar(&o.keep, "keep", true, "leave the shop in the cluster, to play on by hand")
	root.AddCommand(watchCommand(&o))
	return root
}

func watchCommand(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "watch",
		Short: "Show live who answers for the shop of the demo, until Ctrl-C",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			d, err := connect(*o)
			if err != nil {
				return err
			}
			return d.watch(command.Context())
		},
	}
}

func connect(o options) (*demo, error) {
	found, err := cluster.Connect(o.kubeconfig)
	if err != nil {
		return nil, err
	}
	return &demo{screen: newScreen(os.Stdout, !o.nonInteractive), cluster: found, options: o}, nil
}
