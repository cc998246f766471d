//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/footprint"
	"github.com/critical-service/operator/hack/devcluster/internal/network"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
)

// Down ends the cluster and removes everything of it from the machine.
func (c *Cluster) Down(ctx context.Context) error {
	unlock, err := c.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := c.clean(ctx); err != nil {
		return fmt.Errorf("%w\n(`devcluster down` may be repeated)", err)
	}
	return os.RemoveAll(string(c.state))
}

// clean removes everything but the state folder itself, in whatever condition it
// finds the cluster. All of it may be repeated, so that a crash in between is harmless.
func (c *Cluster) clean(ctx context.Context) error {
	existing, err := c.load()
	if err != nil {
		return err
	}
	before, err := footprint.Load(c.state)
	if err != nil {
		return err
	}
	if err := c.killAll(ctx); err != nil {
		return err
	}
	errs := []error{
		footprint.Unmount(c.state),
		network.Down(ctx),
		c.removeProxyRules(ctx, existing, before),
		footprint.RemoveCgroups(ctx),
		before.CleanFolders(c.state),
		before.RestoreKernelSettings(),
	}
	// The record of the machine must outlive a failure, for the next attempt.
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return c.empty()
}

// killAll ends every process by force: nothing of the cluster is to be kept, so
// there is nothing to be finished. What starts others goes first.
func (c *Cluster) killAll(ctx context.Context) error {
	for _, name := range []string{kubeProxyName, kubeletName, controllerManagerName, schedulerName} {
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
	return footprint.KillPods(ctx)
}

// removeProxyRules removes kube-proxy's rules from the kernel.
func (c *Cluster) removeProxyRules(ctx context.Context, existing *record, before footprint.Footprint) error {
	if existing == nil {
		return nil
	}
	if existing.ProxyMode != node.IPTables {
		return network.RemoveKubeProxyTables(ctx)
	}
	kubeProxy, err := c.builder.Binary(build.KubeProxy)
	if err != nil {
		return err
	}
	if _, err := os.Stat(kubeProxy); err != nil {
		return fmt.Errorf("kube-proxy is needed to remove its iptables rules: build it with `devcluster build`: %w", err)
	}
	if output, err := exec.CommandContext(ctx, kubeProxy, "--cleanup").CombinedOutput(); err != nil {
		return fmt.Errorf("kube-proxy --cleanup: %w\n%s", err, output)
	}
	return network.RemoveEmptyTables(ctx, before.Tables)
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
