//go:build linux

package node

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/critical-service/operator/hack/devcluster/internal/layout"
)

// criNamespace is where containerd keeps what Kubernetes uses.
const criNamespace = "k8s.io"

// ForgetImage removes a name from the node's image store, so that a tag that was
// pushed again is pulled again. Running containers keep what they have.
func ForgetImage(ctx context.Context, state layout.State, image string) error {
	cmd := exec.CommandContext(ctx, "ctr", "--address", state.ContainerdSocket(), "--namespace", criNamespace, "images", "remove", image)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ctr images remove: %w\n%s", err, output)
	}
	return nil
}
