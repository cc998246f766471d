package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/cluster"
	"github.com/critical-service/operator/hack/devcluster/internal/layout"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

func (a *app) clusterCommands() []*cobra.Command {
	return []*cobra.Command{a.up(), a.down(), a.status(), a.node(), a.kubeconfig(), a.image(), a.logs(), a.olm(), a.olmV1(), a.metrics(), a.withRegistry(), a.registry()}
}

// cluster returns the cluster for a command that only reads.
func (a *app) cluster() (*cluster.Cluster, layout.State, error) {
	state, err := layout.StateDir(a.stateDir)
	if err != nil {
		return nil, "", err
	}
	builder, err := a.builder()
	if err != nil {
		return nil, "", err
	}
	return cluster.New(state, builder, os.Stdout), state, nil
}

// clusterAsRoot returns the cluster for a command that changes the machine or
// reads what only root may.
func (a *app) clusterAsRoot() (*cluster.Cluster, error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("this needs root: sudo env \"PATH=$PATH\" %s", strings.Join(os.Args, " "))
	}
	c, _, err := a.cluster()
	return c, err
}

func (a *app) up() *cobra.Command {
	var mode, nodes, families, networkPolicies string
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing and start the cluster, or repair a running one",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			proxyMode, err := node.ParseProxyMode(mode)
			if err != nil {
				return err
			}
			if !cmd.Flags().Changed("proxy-mode") {
				proxyMode = ""
			}
			count, err := parseNodes(cmp.Or(nodes, os.Getenv(nodesVariable)))
			if err != nil {
				return err
			}
			ipFamilies, err := parseFamilies(cmp.Or(families, os.Getenv(familiesVariable)))
			if err != nil {
				return err
			}
			enforced, err := parseNetworkPolicies(cmp.Or(networkPolicies, os.Getenv(networkPoliciesVariable)))
			if err != nil {
				return err
			}
			c, err := a.clusterAsRoot()
			if err != nil {
				return fmt.Errorf("%w\n(a real node has network devices, mounts and cgroups)\n%s", err, alternatives)
			}
			err = c.Up(cmd.Context(), cluster.Choice{ProxyMode: proxyMode, Nodes: count, Families: ipFamilies, NetworkPolicies: enforced})
			if cmd.Context().Err() != nil {
				return errors.New("interrupted: `devcluster up` begins again, `devcluster down` removes what was started")
			}
			return err
		},
	}
	cmd.Flags().StringVar(&mode, "proxy-mode", string(node.NFTables), "how kube-proxy programs the kernel: nftables, or iptables (all that 1.28 has)")
	cmd.Flags().StringVar(&nodes, "nodes", "",
		fmt.Sprintf("how many nodes, 1 to %d (default $%s, else that of the running cluster, else 1)", topology.MaxNodes, nodesVariable))
	cmd.Flags().StringVar(&families, "ip-families", "",
		fmt.Sprintf("ipv4, ipv6, or both, the first of which Services get by default (default $%s, else that of the running cluster, else ipv4)", familiesVariable))
	cmd.Flags().StringVar(&networkPolicies, "network-policies", "",
		fmt.Sprintf("enforce NetworkPolicies, by kube-router: true or false (default $%s, else as in the running cluster, else false)", networkPoliciesVariable))
	cmd.Flags().Lookup("network-policies").NoOptDefVal = "true"
	return a.choosingKubernetes(cmd)
}

func (a *app) down() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the cluster and remove everything of it from the machine",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.clusterAsRoot()
			if err != nil {
				return err
			}
			return c.Down(cmd.Context())
		},
	}
}

func (a *app) status() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the components; exit code 1 unless all is well",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.clusterAsRoot()
			if err != nil {
				return err
			}
			return c.Status(cmd.Context())
		},
	}
}

func (a *app) kubeconfig() *cobra.Command {
	var content bool
	cmd := &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, state, err := a.cluster()
			if err != nil {
				return err
			}
			if err := c.RequireRunning(); err != nil {
				return err
			}
			if !content {
				fmt.Fprintln(cmd.OutOrStdout(), state.Kubeconfig())
				return nil
			}
			text, err := os.ReadFile(state.Kubeconfig())
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	cmd.Flags().BoolVar(&content, "print", false, "print the content instead of the path")
	return cmd
}
