//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/critical-service/operator/hack/devcluster/internal/footprint"
	"github.com/critical-service/operator/hack/devcluster/internal/network"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

// Down ends the cluster and removes everything of it from the machine.
func (c *Cluster) Down(ctx context.Context) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	existing, err := c.load()
	if err != nil {
		return err
	}
	others, err := c.supervisor.OtherClusters()
	if err != nil {
		return err
	}
	if existing == nil && len(others) > 0 {
		c.print("There is no cluster with the state folder %s, but one with %s: remove it with --state-dir %[2]s", c.state, others[0])
	} else if err := c.clean(ctx, existing); err != nil {
		return fmt.Errorf("%w\n(`devcluster down` may be repeated)", err)
	}
	return c.disclaim()
}

// clean removes everything but the state folder itself, in whatever condition it
// finds the cluster. All of it may be repeated, so that a crash in between is
// harmless. What its name does not distinguish from another cluster's is removed only
// where a record says that ours was there.
func (c *Cluster) clean(ctx context.Context, recorded *record) error {
	before, err := footprint.Load(c.state)
	if err != nil {
		return err
	}
	if err := c.killAll(ctx); err != nil {
		return err
	}
	errs := []error{footprint.Unmount(c.state), network.Down(ctx)}
	if recorded != nil {
		errs = append(errs, network.RemovePodLinks(), network.RemoveKubeProxyRules(ctx, before.Tables))
	}
	if recorded != nil && recorded.NetworkPolicies {
		errs = append(errs, network.RemoveKubeRouterSets(ctx))
	}
	errs = append(errs,
		before.RemoveCgroups(ctx),
		before.CleanFolders(c.state),
		before.RestoreKernelSettings(),
	)
	// The record of the machine must outlive a failure, for the next attempt.
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.empty()
}

// killAll ends every process by force: nothing of the cluster is to be kept, so
// there is nothing to be finished. What starts others goes first.
func (c *Cluster) killAll(ctx context.Context) error {
	for _, name := range append(clients(topology.AllNodes()), enforcers(topology.AllNodes())...) {
		if id, ok := c.supervisor.Find(name); ok {
			if err := process.Kill(ctx, []process.Identity{id}); err != nil {
				return err
			}
		}
	}
	owned, err := c.supervisor.Owned()
	if err != nil {
		return err
	}
	if err := process.Kill(ctx, owned); err != nil {
		return err
	}
	return footprint.KillPods(ctx, topology.AllNodes()...)
}

// empty removes the content of the state folder, which stays for the lock on it.
func (c *Cluster) empty() error {
	entries, err := os.ReadDir(string(c.state))
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.Name() == markerFile {
			continue
		}
		if err := os.RemoveAll(c.state.Path(entry.Name())); err != nil {
			return err
		}
	}
	return nil
}
