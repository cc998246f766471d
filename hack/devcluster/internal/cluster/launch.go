//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/dns"
	"github.com/critical-service/operator/hack/devcluster/internal/image"
	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/topology"
)

const (
	// startTimeout allows for a slow, busy machine; a usual start takes seconds.
	startTimeout  = 5 * time.Minute
	repairTimeout = 45 * time.Second
	pollInterval  = 100 * time.Millisecond
)

// launch starts the processes and waits until the cluster is of use.
func (c *Cluster) launch(ctx context.Context, hasDNS bool) error {
	client, err := kubeapi.NewClient(c.state)
	if err != nil {
		return err
	}
	if err := c.ensureStarted(c.foundation()); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.pushOwnImages(groupCtx, client) })
	group.Go(func() error { return c.awaitHealthy(groupCtx, client, apiServerName, startTimeout) })
	for _, n := range c.nodes {
		group.Go(func() error { return c.awaitHealthy(groupCtx, client, n.Component(containerdName), startTimeout) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := c.ensureStarted(c.clients()); err != nil {
		return err
	}
	if err := c.deployDNS(ctx, hasDNS); err != nil {
		return err
	}
	if err := c.ensureEnforced(ctx, client, startTimeout); err != nil {
		return err
	}
	return c.awaitReady(ctx, client, startTimeout)
}

// pushOwnImages puts the images of pause and CoreDNS into the registry.
func (c *Cluster) pushOwnImages(ctx context.Context, client *kubeapi.Client) error {
	if err := c.awaitHealthy(ctx, client, registryName, startTimeout); err != nil {
		return err
	}
	for name, component := range map[string]build.Component{topology.PauseImage: build.Pause, topology.CoreDNSImage: build.CoreDNS} {
		binary, err := c.builder.Binary(component)
		if err != nil {
			return err
		}
		img, err := image.FromBinary(binary, component.Name)
		if err != nil {
			return err
		}
		ref, err := image.ParseReference(name)
		if err != nil {
			return err
		}
		if err := image.Push(ctx, ref, img); err != nil {
			return err
		}
	}
	return nil
}

// deployDNS repeats until the API server has made the namespace kube-system,
// which it does a moment after it has begun to serve.
func (c *Cluster) deployDNS(ctx context.Context, hasDNS bool) error {
	manifests, err := dns.Manifests(c.families[0], hasDNS)
	if err != nil {
		return err
	}
	return c.waitFor(ctx, "CoreDNS accepted by the API server", startTimeout, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, manifests, "apply", "--server-side", "--force-conflicts", "-f", "-")
		return err
	})
}

func (c *Cluster) awaitHealthy(ctx context.Context, client *kubeapi.Client, name string, limit time.Duration) error {
	return c.await(ctx, name, limit, func(ctx context.Context) error { return c.healthy(ctx, client, name) })
}

// awaitReady waits for what makes a cluster useful: components that work, nodes
// for Pods, the ServiceAccount that they need, and names.
func (c *Cluster) awaitReady(ctx context.Context, client *kubeapi.Client, limit time.Duration) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range c.components() {
		group.Go(func() error { return c.awaitHealthy(ctx, client, name, limit) })
	}
	for _, n := range c.nodes {
		group.Go(func() error { return c.awaitNode(ctx, client, n, limit) })
	}
	for what, check := range map[string]func(context.Context) error{
		"default ServiceAccount": client.DefaultServiceAccount,
		"Cluster DNS":            c.dnsAnswers,
	} {
		group.Go(func() error { return c.await(ctx, what, limit, check) })
	}
	return group.Wait()
}

func (c *Cluster) dnsAnswers(ctx context.Context) error { return dns.Answers(ctx, c.families[0]) }

func (c *Cluster) awaitNode(ctx context.Context, client *kubeapi.Client, n topology.Node, limit time.Duration) error {
	return c.await(ctx, "Node "+n.Name, limit, func(ctx context.Context) error { return client.NodeReady(ctx, n.Name) })
}

// await waits for one thing, and reports it if it took noticeable time.
func (c *Cluster) await(ctx context.Context, what string, limit time.Duration, check func(context.Context) error) error {
	begin := time.Now()
	err := c.waitFor(ctx, what, limit, check)
	if took := time.Since(begin); err == nil && took > 500*time.Millisecond {
		c.print("  %-24s ready after %s", what, seconds(took))
	}
	return err
}

// waitFor repeats a check until it succeeds. It gives up at once when a component
// that was started has ended, and shows why.
func (c *Cluster) waitFor(ctx context.Context, what string, limit time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		for _, name := range c.expected {
			if !c.supervisor.Alive(name) {
				return &endedError{component: name, awaited: what, log: c.lastLines(name)}
			}
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return fmt.Errorf("waited %s in vain for %s: %w", limit, what, err)
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// endedError is that a component ended while something was waited for.
type endedError struct{ component, awaited, log string }

func (e *endedError) Error() string {
	return fmt.Sprintf("%s has ended while waiting for %s; the end of its log:\n%s", e.component, e.awaited, e.log)
}

func (c *Cluster) lastLines(name string) string {
	content, err := os.ReadFile(c.state.Log(name))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(content)), "\n")
	const shown = 10
	return strings.Join(lines[max(0, len(lines)-shown):], "\n")
}
