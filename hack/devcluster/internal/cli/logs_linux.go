package cli

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/cluster"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// components are those of a cluster with all the nodes that it may have.
func components() []string { return cluster.Components(topology.AllNodes(), true) }

func (a *app) logs() *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use:       "logs [COMPONENT]",
		Short:     "Show the log of a component, or of all",
		Long:      "Show the log of a component, or of all: " + strings.Join(components(), ", ") + ".",
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: components(),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.showLogs(cmd, args, follow, lines)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on as the log grows")
	cmd.Flags().IntVarP(&lines, "lines", "n", 50, "how many lines of each log")
	return cmd
}

func (a *app) showLogs(cmd *cobra.Command, chosen []string, follow bool, lines int) error {
	_, state, err := a.cluster()
	if err != nil {
		return err
	}
	if len(chosen) == 0 {
		chosen = components()
	}
	var files []string
	for _, name := range chosen {
		if !slices.Contains(components(), name) {
			return fmt.Errorf("there is no component %q: there are %s", name, strings.Join(components(), ", "))
		}
		if _, err := os.Stat(state.Log(name)); err == nil {
			files = append(files, state.Log(name))
		}
	}
	if len(files) == 0 {
		return fmt.Errorf("there are no logs in %s: start the cluster with `devcluster up`", state.Path("logs"))
	}
	args := []string{"--lines=" + strconv.Itoa(lines)}
	if follow {
		args = append(args, "--follow=name", "--retry")
	}
	tail := exec.CommandContext(cmd.Context(), "tail", append(args, files...)...)
	tail.Stdout, tail.Stderr = cmd.OutOrStdout(), cmd.ErrOrStderr()
	if err := tail.Run(); cmd.Context().Err() == nil {
		return err
	}
	// Ending the log with Ctrl-C is how one leaves it.
	return nil
}
