//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
)

// Status prints the condition of the cluster, and returns an error unless it is sound.
func (c *Cluster) Status(ctx context.Context) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	r, err := c.load()
	if err != nil {
		return err
	}
	c.print("Kubernetes %s, nodes: %d, kube-proxy in %s mode, up for %s\n", r.Version, r.Nodes, r.ProxyMode, time.Since(r.Started).Round(time.Second))

	client, err := kubeapi.NewClient(c.state)
	if err != nil {
		return err
	}
	if ended, err := c.printComponents(ctx, client); err != nil || len(ended) > 0 {
		return errors.Join(err, fmt.Errorf("%s ended: `devcluster up` starts what is missing", strings.Join(ended, ", ")))
	}
	return c.checkServices(ctx, client)
}

func (c *Cluster) printComponents(ctx context.Context, client *kubeapi.Client) (ended []string, err error) {
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tSTATE\tPID\tAGE\tLOG")
	for _, name := range c.components() {
		id, known := c.supervisor.Find(name)
		if !known || !id.Alive() {
			ended = append(ended, name)
			fmt.Fprintf(table, "%s\tended\t-\t-\t%s\n", name, c.state.Log(name))
			continue
		}
		condition := "healthy"
		if c.healthy(ctx, client, name) != nil {
			condition = "unhealthy"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", name, condition, id.PID, id.Age().Round(time.Second), c.state.Log(name))
	}
	fmt.Fprintln(table)
	return ended, table.Flush()
}

func (c *Cluster) checkServices(ctx context.Context, client *kubeapi.Client) error {
	type check struct {
		what string
		ask  func(context.Context) error
	}
	checks := []check{{"API server", client.Ready}, {"Cluster DNS", c.dnsAnswers}}
	for _, n := range c.nodes {
		checks = append(checks, check{"Node " + n.Name, func(ctx context.Context) error { return client.NodeReady(ctx, n.Name) }})
	}
	var errs []error
	for _, check := range checks {
		if err := check.ask(ctx); err != nil {
			errs = append(errs, err)
			c.print("%-12s not ready", check.what)
			continue
		}
		c.print("%-12s ready", check.what)
	}
	if len(errs) == 0 {
		c.printHints()
	}
	return errors.Join(errs...)
}
