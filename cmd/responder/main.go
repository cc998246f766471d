// Command responder answers in place of Services that have no Pod left. It is what the
// Pods run that the operator makes for page fallbacks. `responder probe` is the client
// of a drill.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	probe "github.com/critical-service/operator/internal/probe/command"
	"github.com/critical-service/operator/internal/responder"
	"github.com/critical-service/operator/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	if err := command().ExecuteContext(ctx); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:          "responder",
		Short:        "Answer in place of Services that have no Pod left, in each protocol",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		Version:      fmt.Sprintf("%s (commit %s)", version.Version, version.Commit),
	}
	options := responder.Bind(root.Flags())
	root.RunE = func(cmd *cobra.Command, _ []string) error { return responder.Run(cmd.Context(), *options) }
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(probe.Command())
	return root
}
