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
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), root.Version) },
	})
	return root
}
