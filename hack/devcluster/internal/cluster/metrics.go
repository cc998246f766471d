//go:build linux

package cluster

import (
	"context"
	"fmt"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/metricsserver"
	"github.com/critical-service/operator/hack/devcluster/internal/olm"
)

var metricsServer = addon{name: "metrics-server", components: []build.Component{build.MetricsServer}, version: build.MetricsServer}

// MetricsUp brings metrics-server into the running cluster, or up to date there.
func (c *Cluster) MetricsUp(ctx context.Context) error {
	return c.bringUp(ctx, metricsServer, func(ctx context.Context) error {
		image, err := metricsserver.Image(c.builder)
		if err != nil {
			return err
		}
		if err := c.deliverAll(ctx, []olm.Image{image}); err != nil {
			return err
		}
		if _, err := c.kubectl(ctx, metricsserver.Manifests(), "apply", "--server-side", "--force-conflicts", "-f", "-"); err != nil {
			return err
		}
		err = c.waitFor(ctx, "the metrics of Pods", startTimeout, func(ctx context.Context) error {
			_, err := c.kubectl(ctx, nil, "wait", "--for=condition=Available", "--timeout=30s", "apiservice", metricsserver.API)
			return err
		})
		if err != nil {
			return fmt.Errorf("%w\n(`devcluster metrics up` goes on, `devcluster metrics down` removes it)", err)
		}
		return nil
	})
}

// MetricsDown removes metrics-server from the running cluster.
func (c *Cluster) MetricsDown(ctx context.Context) error {
	return c.takeDown(ctx, metricsServer, func(ctx context.Context) error {
		if _, err := c.kubectl(ctx, metricsserver.Manifests(), "delete", "--ignore-not-found", "--timeout=2m", "-f", "-"); err != nil {
			return fmt.Errorf("%w\n(`devcluster metrics down` may be repeated)", err)
		}
		return nil
	})
}
