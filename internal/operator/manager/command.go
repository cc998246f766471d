package manager

import (
	"context"
	"flag"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/critical-service/operator/internal/operator/setting"
	"github.com/critical-service/operator/internal/version"
)

// Command is the command `manager` of an operator with settings of type S. The function
// bind adds their flags and returns what reads them; run is the operator.
func Command[S any](
	short string,
	bind func(*pflag.FlagSet, setting.Environment) func() (S, error),
	run func(context.Context, S) error,
) *cobra.Command {
	root := &cobra.Command{
		Use:          "manager",
		Short:        short,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		Version:      fmt.Sprintf("%s (commit %s)", version.Version, version.Commit),
	}
	read := bind(root.Flags(), os.LookupEnv)
	root.Flags().AddGoFlag(flag.Lookup("kubeconfig"))
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := read()
		if err != nil {
			return err
		}
		return run(cmd.Context(), s)
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(&cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		Run: func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), root.Version) },
	})
	return root
}
