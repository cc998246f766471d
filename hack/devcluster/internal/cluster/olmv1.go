//go:build linux

package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/build"
	"github.com/critical-service/operator/hack/devcluster/internal/olm"
	"github.com/critical-service/operator/hack/devcluster/internal/olmv1"
)

// olmV1 has the version of its operator-controller.
var olmV1 = addon{name: "OLM v1", components: build.OLMv1(), version: build.OperatorController}

// OLMv1Up brings OLM v1 and cert-manager into the running cluster, or up to date there.
func (c *Cluster) OLMv1Up(ctx context.Context) error {
	return c.bringUp(ctx, olmV1, func(ctx context.Context) error {
		images, err := olm.V1Images(c.builder)
		if err != nil {
			return err
		}
		if err := c.deliverAll(ctx, images); err != nil {
			return err
		}
		for _, stage := range olmv1.Stages() {
			if err := c.applyStage(ctx, stage); err != nil {
				return fmt.Errorf("%w\n(`devcluster olmv1 up` goes on, `devcluster olmv1 down` removes it)", err)
			}
		}
		return nil
	})
}

// applyStage applies until the API server knows all kinds: definitions and their
// objects are in one file.
func (c *Cluster) applyStage(ctx context.Context, stage olmv1.Stage) error {
	err := c.waitFor(ctx, "the objects of "+stage.Name, startTimeout, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, stage.Manifests, "apply", "--server-side", "--force-conflicts", "-f", "-")
		return err
	})
	if err != nil {
		return err
	}
	return c.waitFor(ctx, stage.Name, startTimeout, func(ctx context.Context) error {
		_, err := c.kubectl(ctx, nil, "wait", "--namespace", stage.Namespace, "--for=condition=Available", "--timeout=30s", "deployments", "--all")
		return err
	})
}

// OLMv1Down removes OLM v1 from the running cluster with what it installed, and cert-manager.
func (c *Cluster) OLMv1Down(ctx context.Context) error {
	return c.takeDown(ctx, olmV1, func(ctx context.Context) error {
		// OLM v1 must still run, because it has to remove what it installed.
		for _, kinds := range []string{"clusterextensions.olm.operatorframework.io", "clustercatalogs.olm.operatorframework.io"} {
			if err := c.removeAll(ctx, kinds); err != nil {
				return err
			}
		}
		for _, stage := range slices.Backward(olmv1.Stages()) {
			// Without the definitions kubectl knows no mapping for some of the objects, which are then gone.
			_, err := c.kubectl(ctx, stage.Manifests, "delete", "--ignore-not-found", "--timeout=2m", "-f", "-")
			if err != nil && !strings.Contains(err.Error(), "no matches for kind") {
				return fmt.Errorf("%w\n(`devcluster olmv1 down` may be repeated)", err)
			}
		}
		return nil
	})
}
