//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/olm"
)

// OLMStatus prints the condition of OLM, and returns an error unless it is sound.
func (c *Cluster) OLMStatus(ctx context.Context) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	client, err := kubeapi.NewClient(c.state)
	if err != nil {
		return err
	}
	there, err := olm.IsThere(ctx, client)
	if err != nil {
		return err
	}
	if !there {
		return errors.New("OLM is not in the cluster: `devcluster olm up` brings it there")
	}
	var errs []error
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	for _, part := range olm.Parts() {
		condition := "ready"
		if err := part.Check(ctx, client); err != nil {
			condition = "not ready"
			errs = append(errs, err)
		}
		fmt.Fprintf(table, "%s\t%s\n", part.Name, condition)
	}
	return errors.Join(append(errs, table.Flush())...)
}
