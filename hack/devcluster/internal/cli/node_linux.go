package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// nodesVariable is the default of --nodes.
const nodesVariable = "DEVCLUSTER_NODES"

// familiesVariable is the default of --ip-families.
const familiesVariable = "DEVCLUSTER_IP_FAMILIES"

// parseFamilies reads IP families. No text leaves the choice, and is none.
func parseFamilies(text string) (topology.Families, error) {
	if text == "" {
		return nil, nil
	}
	families, err := topology.ParseFamilies(text)
	if err != nil {
		return nil, fmt.Errorf("--ip-families or $%s: %w", familiesVariable, err)
	}
	return families, nil
}

// networkPoliciesVariable is the default of --network-policies.
const networkPoliciesVariable = "DEVCLUSTER_NETWORK_POLICIES"

// parseNetworkPolicies reads true or false. No text leaves the choice, and is neither.
func parseNetworkPolicies(text string) (*bool, error) {
	if text == "" {
		return nil, nil
	}
	// Scripts compare the same words.
	if text != "true" && text != "false" {
		return nil, fmt.Errorf("--network-policies or $%s is %q: give true or false", networkPoliciesVariable, text)
	}
	return new(text == "true"), nil
}

// parseNodes reads a number of nodes. No text leaves the choice, and is 0.
func parseNodes(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 || count > topology.MaxNodes {
		return 0, fmt.Errorf("--nodes or $%s is %q: give a number from 1 to %d", nodesVariable, text, topology.MaxNodes)
	}
	return count, nil
}

func (a *app) node() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "Cut the power of a node, or run a command on its network"}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "cut NAME",
			Short: "Cut the power of a node other than the first; `devcluster up` switches it on again",
			Args:  cobra.ExactArgs(1),
			RunE: func(cmd *cobra.Command, args []string) error {
				c, err := a.clusterAsRoot()
				if err != nil {
					return err
				}
				return c.CutPower(cmd.Context(), args[0])
			},
		},
		&cobra.Command{
			Use:   "exec NAME -- COMMAND [ARG...]",
			Short: "Run a command on the network of a node",
			Args:  cobra.MinimumNArgs(2),
			RunE: func(_ *cobra.Command, args []string) error {
				c, err := a.clusterAsRoot()
				if err != nil {
					return err
				}
				command, err := c.OnNode(args[0], args[1:])
				if err != nil {
					return err
				}
				path, err := exec.LookPath(command[0])
				if err != nil {
					return err
				}
				return syscall.Exec(path, command, os.Environ())
			},
		},
	)
	return cmd
}
