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
		a.olmCommand("up", "Build what is missing and bring OLM into the cluster, with the images that operator-sdk needs", (*cluster.Cluster).OLMUp),
		a.olmCommand("down", "Remove OLM and everything that it installed from the cluster", (*cluster.Cluster).OLMDown),
		a.olmCommand("status", "Show the parts of OLM; exit code 1 unless all is well", (*cluster.Cluster).OLMStatus),
	)
	return cmd
}

func (a *app) olmCommand(name, short string, run func(*cluster.Cluster, context.Context) error) *cobra.Command {
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
