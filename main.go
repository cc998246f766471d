// Command manager is the Critical Service Operator.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/operator"
	"github.com/critical-service/operator/internal/operator/settings"
	probe "github.com/critical-service/operator/internal/probe/command"
	"github.com/critical-service/operator/internal/responder"
	"github.com/critical-service/operator/internal/version"
)

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:          "manager",
		Short:        "Keep critical Services answering when all their Pods are gone",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		Version:      fmt.Sprintf("%s (commit %s)", version.Version, version.Commit),
	}
	read := settings.Bind(root.Flags(), os.LookupEnv)
	root.Flags().AddGoFlag(flag.Lookup("kubeconfig"))
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := read()
		if err != nil {
			return err
		}
		return operator.Run(cmd.Context(), s)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(answer(), probe.Command(), &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), root.Version) },
	})
	return root
}

// answer is what the Pods run that the operator makes for page fallbacks.
func answer() *cobra.Command {
	cmd := &cobra.Command{
		Use: "responder", Short: "Answer in the place of Services that are gone, in each protocol", Args: cobra.NoArgs,
	}
	options := responder.Bind(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return responder.Run(cmd.Context(), *options) }
	return cmd
}
