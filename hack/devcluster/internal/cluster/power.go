//go:build linux

package cluster

import (
	"context"
	"fmt"

	"github.com/critical-service/operator/hack/devcluster/internal/footprint"
	"github.com/critical-service/operator/hack/devcluster/internal/network"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// CutPower makes a node be as after a power cut: no packet leaves it any more, not even one
// that ends a connection, and nothing on it runs. Up switches it on again.
func (c *Cluster) CutPower(ctx context.Context, name string) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.RequireRunning(); err != nil {
		return err
	}
	n, err := c.node(name)
	if err != nil {
		return err
	}
	if n.IsHost() {
		return fmt.Errorf("%s is the machine itself, with the control plane: cut the power of another node", name)
	}
	if err := network.Disconnect(n); err != nil {
		return err
	}
	running, err := process.In(c.state.Namespace(n))
	if err != nil {
		return err
	}
	if err := process.Kill(ctx, running); err != nil {
		return err
	}
	return footprint.KillPods(ctx, n)
}

// OnNode is the command that runs another one on the network of a node.
func (c *Cluster) OnNode(name string, command []string) ([]string, error) {
	if err := c.RequireRunning(); err != nil {
		return nil, err
	}
	n, err := c.node(name)
	if err != nil {
		return nil, err
	}
	return process.InNamespace(c.state.Namespace(n), command), nil
}

func (c *Cluster) node(name string) (topology.Node, error) {
	for _, n := range c.nodes {
		if n.Name == name {
			return n, nil
		}
	}
	return topology.Node{}, fmt.Errorf("there is no node %s: the cluster has %d (`devcluster up --nodes N`)", name, len(c.nodes))
}
