package make_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/checkout"
)

// opm is what hack/catalog.sh needs of opm: it renders a bundle under the image it is given.
const opm = `#!/bin/sh
case $1 in
init) echo "defaultChannel: $*" ;;
render) for image; do :; done; printf 'image: %s\nname: critical-service-operator.v1.0.0\n' "$image" ;;
esac
`

func TestACatalogNamesTheBundleItIsGiven(t *testing.T) {
	const fork = "registry.example.com/me/op-bundle:v1.0.0"
	const rendered, definition = "catalog/critical-service-operator/bundles/v1.0.0.yaml", "catalog/critical-service-operator/package.yaml"
	for sentence, c := range map[string]struct {
		released bool
		steps    [][]string
		says     string
	}{
		"as the image that the catalog is built with": {
			steps: [][]string{{"catalog", "BUNDLE_IMG=" + fork, "DEFAULT_CHANNEL=candidate-v1"}, {"catalog-build", "BUNDLE_IMG=" + fork}},
		},
		"by IMAGE_TAG_BASE": {
			steps: [][]string{{"catalog", "IMAGE_TAG_BASE=registry.example.com/me/op"}, {"catalog-build", "IMAGE_TAG_BASE=registry.example.com/me/op"}},
		},
		"and is not built before it does": {
			steps: [][]string{{"catalog-build", "BUNDLE_IMG=" + fork}},
			says:  "No bundle in catalog/ is the image " + fork + ": run 'make catalog' with the same variables first.",
		},
		"but not of another version": {
			steps: [][]string{{"catalog", "VERSION=0.0.7"}},
			says:  "There is no catalog: " + "BUNDLE is the bundle critical-service-operator.v1.0.0, and not of version 0.0.7: run 'make bundle' with the same variables first.",
		},
		"but not in a channel that does not have it": {
			steps: [][]string{{"catalog", "BUNDLE_IMG=" + fork, "CHANNELS=stable-v1,alpha"}},
			says:  "does not name critical-service-operator.v1.0.0 in the channel alpha.",
		},
		"but not of a default channel that there is not": {
			steps: [][]string{{"catalog", "BUNDLE_IMG=" + fork, "DEFAULT_CHANNEL=alpha"}},
			says:  "has no channel alpha, which is the default: give another DEFAULT_CHANNEL, or add it.",
		},
		"but not in place of one that is released": {
			released: true, steps: [][]string{{"catalog", "BUNDLE_IMG=" + fork}},
			says: "is released, as quay.io/critical-service/operator-bundle@sha256:0123: another image must have another version.",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			copied := checkout.New(t, root)
			g.Expect(os.Remove(copied.Path("bin/tools"))).To(Succeed())
			copied.Write(t, "bin/tools/opm", opm, 0o755)
			if c.released {
				copied.Write(t, rendered, "image: quay.io/critical-service/operator-bundle@sha256:0123\n", 0o600)
			}
			before := []string{copied.Read(t, rendered), copied.Read(t, definition)}
			var said string
			var err error
			for _, step := range c.steps {
				g.Expect(err).NotTo(HaveOccurred(), said)
				said, err = copied.Run(t, "make", append(step, "CONTAINER_TOOL=true")...)
			}
			if c.says != "" {
				g.Expect(err).To(HaveOccurred())
				bundle, err := filepath.EvalSymlinks(copied.Path("bundle"))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(said).To(ContainSubstring(strings.ReplaceAll(c.says, "BUNDLE", bundle)))
				g.Expect([]string{copied.Read(t, rendered), copied.Read(t, definition)}).To(Equal(before), "what is refused changes nothing")
				return
			}
			g.Expect(err).NotTo(HaveOccurred(), said)
			// The stub's answer has the template in its first line.
			g.Expect(copied.Read(t, rendered)).To(HavePrefix("image: " + fork + "\n"))
		})
	}
}
