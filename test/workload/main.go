// Command workload is what the demo and the end-to-end tests run in Pods: a web server that can
// misbehave on demand, and a prober that watches a Service from inside the cluster.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:          "workload",
		Short:        "The web server and the prober of the demo and the end-to-end tests",
		SilenceUsage: true,
	}
	root.AddCommand(webCommand(), probeCommand())
	return root
}
