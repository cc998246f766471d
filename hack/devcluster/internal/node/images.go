//go:build linux

package node

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// criNamespace is where containerd keeps what Kubernetes uses.
const criNamespace = "k8s.io"

// ForgetImage removes a name from the node's image store, so that a tag that was
// pushed again is pulled again. Running containers keep what they have.
func ForgetImage(ctx context.Context, dir layout.NodeDir, image string) error {
	return ctr(ctx, dir, "images", "remove", image)
}

// AliasImage makes the node take an image for another name, even for a
// digest that is not its own. The image must be in the local registry.
func AliasImage(ctx context.Context, dir layout.NodeDir, image, alias string) error {
	pull := []string{"images", "pull", "--hosts-dir", registryHosts(dir), "--snapshotter", snapshotter(string(dir)), image}
	if err := ctr(ctx, dir, pull...); err != nil {
		return err
	}
	return ctr(ctx, dir, "images", "tag", "--force", image, alias)
}

func ctr(ctx context.Context, dir layout.NodeDir, args ...string) error {
	all := append([]string{"--address", dir.ContainerdSocket(), "--namespace", criNamespace}, args...)
	if output, err := exec.CommandContext(ctx, "ctr", all...).CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w\n%s", strings.Join(args[:2], " "), err, output)
	}
	return nil
}
