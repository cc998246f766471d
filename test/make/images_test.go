package make_test

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/checkout"
)

// `kustomize edit set image`, as the scaffold's deploy does it, gives the image another name.
func TestManifestsHaveTheImageThatIsGiven(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	copied := checkout.New(t, root)
	for folder, image := range map[string]string{".": "operator", "workloads": "workloads"} {
		g := NewWithT(t)
		for _, given := range []string{"registry.example.com/me/op:v1", "registry.example.com/me/op" + digest, "localhost:5000/op:v1" + digest} {
			said, err := copied.Run(t, "hack/render.sh", given, folder)
			g.Expect(err).NotTo(HaveOccurred(), said)
			g.Expect(said).To(ContainSubstring("image: " + given + "\n"))
		}
		tools, err := filepath.EvalSymlinks(copied.Path("bin/tools"))
		g.Expect(err).NotTo(HaveOccurred())
		said, err := copied.Run(t, "bash", "-euc", "cd "+folder+"/config/manager && "+tools+"/kustomize edit set image quay.io/critical-service/"+image+"=registry.example.com/me/op:old")
		g.Expect(err).NotTo(HaveOccurred(), said)
		for _, target := range []string{"bundle", "build-installer"} {
			said, err := copied.Run(t, "make", "--directory="+folder, target, "IMG=registry.example.com/me/op:v1")
			g.Expect(err).To(HaveOccurred(), said)
			g.Expect(said).To(ContainSubstring("The manifests do not have the image registry.example.com/me/op:v1: " + folder + "/config/manager must name " +
				"the operator's image quay.io/critical-service/" + image + ",\nwhich is replaced there."))
		}
	}
}
