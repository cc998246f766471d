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
func ForgetImage(ctx context.Context, state layout.State, image string) error {
	return ctr(ctx, state, "images", "remove", image)
}

// AliasImage makes the node take an image for another name, even for a
// digest that is not its own. The image must be in the local registry.
func AliasImage(ctx context.Context, state layout.State, image, alias string) error {
	pull := []string{"images", "pull", "--hosts-dir", registryHosts(state), "--snapshotter", snapshotter(string(state)), image}
	if err := ctr(ctx, state, pull...); err != nil {
		return err
	}
	return ctr(ctx, state, "images", "tag", "--force", image, alias)
}

func ctr(ctx context.Context, state layout.State, args ...string) error {
	all := append([]string{"--address", state.ContainerdSocket(), "--namespace", criNamespace}, args...)
	if output, err := exec.CommandContext(ctx, "ctr", all...).CombinedOutput(); err != nil {
		return fmt.Errorf("ctr %s: %w\n%s", strings.Join(args[:2], " "), err, output)
	}
	return nil
}
