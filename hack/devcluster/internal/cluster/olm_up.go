//go:build linux

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/debian"
	"github.com/critical-service/operator/hack/devcluster/internal/image"
	"github.com/critical-service/operator/hack/devcluster/internal/kubeapi"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
	"github.com/critical-service/operator/hack/devcluster/internal/olm"
	"github.com/critical-service/operator/hack/devcluster/internal/process"
)

// OLMUp brings OLM into the running cluster, or up to date there.
func (c *Cluster) OLMUp(ctx context.Context) error {
	return c.bringUp(ctx, addon{
		name: "OLM", components: build.OLM(), version: build.OLMOperator, packages: debian.OLMRequirements(),
	}, c.installOLM)
}

func (c *Cluster) installOLM(ctx context.Context) error {
	if err := c.deliverOLMImages(ctx); err != nil {
		return err
	}
	if err := c.applyOLM(ctx); err != nil {
		return err
	}
	client, err := kubeapi.NewClient(c.state)
	if err != nil {
		return err
	}
	for _, part := range olm.Parts() {
		check := func(ctx context.Context) error { return part.Check(ctx, client) }
		if err := c.await(ctx, part.Name, startTimeout, check); err != nil {
			return fmt.Errorf("%w\n(`devcluster olm up` goes on, `devcluster olm down` removes OLM)", err)
		}
	}
	return nil
}

// lockRunning locks a cluster that is there, and leaves nothing behind where none is.
func (c *Cluster) lockRunning() (unlock func(), err error) {
	unlock, err = c.lock()
	if err != nil {
		return nil, err
	}
	if err := c.RequireRunning(); err != nil {
		_ = c.disclaim()
		unlock()
		return nil, err
	}
	return unlock, nil
}

// deliverOLMImages puts the images that are not there yet into the registry.
func (c *Cluster) deliverOLMImages(ctx context.Context) error {
	busybox, err := debian.BusyBox()
	if err != nil {
		return err
	}
	images, err := olm.Images(c.builder, busybox)
	if err != nil {
		return err
	}
	return c.deliverAll(ctx, images)
}

// deliverAll delivers two at once, because most of the work is compressing them.
func (c *Cluster) deliverAll(ctx context.Context, images []olm.Image) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(2)
	for _, img := range images {
		group.Go(func() error { return c.deliver(groupCtx, img) })
	}
	return group.Wait()
}

func (c *Cluster) deliver(ctx context.Context, img olm.Image) error {
	for _, name := range img.Names {
		ref, err := image.ParseReference(name)
		if err != nil {
			return err
		}
		current, err := img.Content.IsCurrent(ctx, ref)
		if err != nil {
			return err
		}
		if current {
			continue
		}
		content, err := img.Content.Image()
		if err != nil {
			return fmt.Errorf("image %s: %w", name, err)
		}
		if err := image.Push(ctx, ref, content); err != nil {
			return err
		}
		if err := c.publish(ctx, ref); err != nil {
			return err
		}
	}
	if img.Alias == "" {
		return nil
	}
	for _, n := range c.nodes {
		if err := node.AliasImage(ctx, c.state.Node(n), img.Names[0], img.Alias); err != nil {
			return err
		}
	}
	return nil
}

// applyOLM applies the definitions first: the API server refuses objects of kinds
// that it does not know.
func (c *Cluster) applyOLM(ctx context.Context) error {
	definitions, err := c.olmDefinitions(ctx)
	if err != nil {
		return err
	}
	if _, err := c.kubectl(ctx, definitions, "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
		return err
	}
	// kubectl gives up on a definition whose conditions have not been written yet.
	err = c.waitFor(ctx, "the kinds of OLM", startTimeout, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, definitions, "wait", "--for=condition=Established", "--timeout=1m", "-f", "-")
		return err
	})
	if err != nil {
		return err
	}
	_, err = c.kubectl(ctx, olm.Manifests(), "apply", "--server-side", "--force-conflicts", "-f", "-")
	return err
}

func (c *Cluster) olmDefinitions(ctx context.Context) ([]byte, error) {
	program, err := c.builder.Binary(build.OLMResources)
	if err != nil {
		return nil, err
	}
	definitions, err := exec.CommandContext(ctx, program).Output()
	if err != nil {
		return nil, fmt.Errorf("the CustomResourceDefinitions of OLM: %w", err)
	}
	return definitions, nil
}

// kubectl runs kubectl as the cluster's administrator and returns what it prints.
func (c *Cluster) kubectl(ctx context.Context, input []byte, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.builder.KubectlLink(), slices.Concat([]string{"--kubeconfig", c.state.Kubeconfig()}, args)...)
	cmd.Env = c.supervisor.Environment(process.Spec{NoProxy: true})
	cmd.Stdin = bytes.NewReader(input)
	var output, message bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &message
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("kubectl %s: %w: %s", args[0], err, message.String())
	}
	return output.String(), nil
}
