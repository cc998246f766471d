//go:build linux

package cluster

import (
	"context"
	"time"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/debian"
)

// addon is what can be brought into a running cluster, and removed from it.
type addon struct {
	name string
	// components are what it is built from, and the version of one of them is its own.
	components []build.Component
	version    build.Component
	// packages are those of Debian that it needs.
	packages []debian.Requirement
}

// bringUp builds an addon before it locks the cluster, which others may use meanwhile.
func (c *Cluster) bringUp(ctx context.Context, a addon, install func(context.Context) error) error {
	if err := c.RequireRunning(); err != nil {
		return err
	}
	if err := c.builder.Ensure(ctx, a.components...); err != nil {
		return err
	}
	if err := debian.Ensure(ctx, a.packages, c.out); err != nil {
		return err
	}
	unlock, err := c.lockRunning()
	if err != nil {
		return err
	}
	defer unlock()
	begin := time.Now()
	if err := install(ctx); err != nil {
		return err
	}
	version, err := c.builder.Version(a.version)
	if err != nil {
		return err
	}
	c.print("%s %s is up after %s", a.name, version, seconds(time.Since(begin)))
	return nil
}

// takeDown removes an addon.
func (c *Cluster) takeDown(ctx context.Context, a addon, remove func(context.Context) error) error {
	unlock, err := c.lockRunning()
	if err != nil {
		return err
	}
	defer unlock()
	begin := time.Now()
	if err := remove(ctx); err != nil {
		return err
	}
	c.print("%s is removed after %s", a.name, seconds(time.Since(begin)))
	return nil
}
