//go:build linux

package cluster

import (
	"context"
	"fmt"
	"io"

	"github.com/critical-service/operator/hack/devcluster/internal/image"
	"github.com/critical-service/operator/hack/devcluster/internal/node"
)

// BuildImage builds a Dockerfile into the cluster's registry.
func (c *Cluster) BuildImage(ctx context.Context, request image.BuildRequest, output io.Writer) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	ref, err := image.Build(ctx, c.state, c.Environment(), request, output)
	if err != nil {
		return err
	}
	return c.publish(ctx, ref)
}

// LoadImages puts the images of an archive into the cluster's registry.
func (c *Cluster) LoadImages(ctx context.Context, archive, name string) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	opened, err := image.OpenArchive(archive, name)
	if err != nil {
		return err
	}
	defer func() { _ = opened.Close() }()
	for _, archived := range opened.Images {
		if err := image.Push(ctx, archived.Reference, archived.Content); err != nil {
			return err
		}
		if err := c.publish(ctx, archived.Reference); err != nil {
			return err
		}
	}
	return nil
}

// publish makes the nodes take the new image at the next start of a container,
// whatever the Pod's pull policy.
func (c *Cluster) publish(ctx context.Context, ref image.Reference) error {
	for _, n := range c.nodes {
		if err := node.ForgetImage(ctx, c.state.Node(n), ref.Full); err != nil {
			return fmt.Errorf("remove the old copy of %s on %s: %w", ref.Full, n.Name, err)
		}
	}
	c.print("%s", ref.Full)
	return nil
}
