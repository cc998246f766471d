//go:build !linux

package cli

import (
	"errors"
	"runtime"

	"github.com/spf13/cobra"
)

// clusterCommands are there on every system, so that they can say what to do instead.
func (a *app) clusterCommands() []*cobra.Command {
	var commands []*cobra.Command
	for _, name := range []string{"up", "down", "status", "kubeconfig", "image", "logs", "olm", "with-registry"} {
		commands = append(commands, &cobra.Command{
			Use:                name,
			Short:              "(Linux only)",
			DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return errors.New("a cluster with a real node needs Linux, and this is " + runtime.GOOS + ".\n" + alternatives)
			},
		})
	}
	return commands
}
