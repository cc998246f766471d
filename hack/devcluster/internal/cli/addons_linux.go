package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/hack/devcluster/internal/cluster"
)

func (a *app) olm() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "olm",
		Short: "The Operator Lifecycle Manager in the running cluster",
	}
	cmd.AddCommand(
		a.addonCommand("up", "Build what is missing and bring OLM into the cluster, with the images that operator-sdk needs", (*cluster.Cluster).OLMUp),
		a.addonCommand("down", "Remove OLM and everything that it installed from the cluster", (*cluster.Cluster).OLMDown),
		a.addonCommand("status", "Show the parts of OLM; exit code 1 unless all is well", (*cluster.Cluster).OLMStatus),
	)
	return cmd
}

func (a *app) olmV1() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "olmv1",
		Short: "OLM v1 (catalogd, operator-controller) and cert-manager in the running cluster",
	}
	cmd.AddCommand(
		a.addonCommand("up", "Build what is missing and bring OLM v1 and cert-manager into the cluster", (*cluster.Cluster).OLMv1Up),
		a.addonCommand("down", "Remove OLM v1, everything that it installed, and cert-manager from the cluster", (*cluster.Cluster).OLMv1Down),
	)
	return cmd
}

func (a *app) metrics() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "metrics",
		Short: "metrics-server in the running cluster, for `kubectl top` and autoscalers",
	}
	cmd.AddCommand(
		a.addonCommand("up", "Build what is missing and bring metrics-server into the cluster", (*cluster.Cluster).MetricsUp),
		a.addonCommand("down", "Remove metrics-server from the cluster", (*cluster.Cluster).MetricsDown),
	)
	return cmd
}

func (a *app) addonCommand(name, short string, run func(*cluster.Cluster, context.Context) error) *cobra.Command {
	return &cobra.Command{
		Use:   name,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := a.clusterAsRoot()
			if err != nil {
				return err
			}
			err = run(c, cmd.Context())
			if cmd.Context().Err() != nil {
				return errors.New("interrupted: the command may be repeated")
			}
			return err
		},
	}
}
