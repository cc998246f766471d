//go:build e2e

package made_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/internal/registry"
)

const root = "../../.."

// release is what was made.
type release struct {
	*WithT
	t *testing.T
	// dist is its folder, repository where it is in a registry of this test, and version vX.Y.Z of it.
	dist, repository, version string
	// digests are those of the images, by name.
	digests map[string]string
}

// published is the release in a registry of the test.
func published(t *testing.T) *release {
	t.Helper()
	r := &release{WithT: NewWithT(t), t: t, dist: os.Getenv("DIST"), digests: map[string]string{}}
	r.Expect(r.dist).NotTo(BeEmpty(), "DIST must be the folder that `make release` has made: run `make release-check`")
	r.repository = registry.Serve(t, root) + "/critical-service"
	line := regexp.MustCompile(`(?m)^quay\.io/critical-service/(\S+):(v\S+)@(sha256:[0-9a-f]{64})$`)
	for _, image := range line.FindAllStringSubmatch(r.read("images.txt"), -1) {
		r.version, r.digests[image[1]] = image[2], image[3]
		r.Expect(r.tool("crane", "push", filepath.Join(r.dist, "images", image[1]), r.image(image[1]))).NotTo(BeEmpty())
		r.Expect(strings.TrimSpace(r.tool("crane", "digest", r.image(image[1])))).To(Equal(image[3]), "the digest by which the bundles and users name it")
	}
	r.Expect(r.digests).To(HaveLen(7), "%v", r.digests)
	return r
}

// image is a reference to an image.
func (r *release) image(name string) string { return r.repository + "/" + name + ":" + r.version }

func (r *release) read(path string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dist, path))
	r.Expect(err).NotTo(HaveOccurred())
	return string(data)
}

// provenance is what these tests look at in dist/provenance.json.
type provenance struct {
	BuildDefinition struct {
		ResolvedDependencies []struct {
			URI    string            `json:"uri"`
			Digest map[string]string `json:"digest"`
		} `json:"resolvedDependencies"`
	} `json:"buildDefinition"`
}

// commit is what it was made from.
func (r *release) commit() string {
	r.t.Helper()
	var read provenance
	r.Expect(json.Unmarshal([]byte(r.read("provenance.json")), &read)).To(Succeed())
	r.Expect(read.BuildDefinition.ResolvedDependencies).To(HaveLen(2))
	source := read.BuildDefinition.ResolvedDependencies[0]
	r.Expect(source.URI).To(Equal("git+https://github.com/critical-service/operator@refs/tags/" + r.version))
	return source.Digest["gitCommit"]
}

// tool is what a program of bin/tools prints.
func (r *release) tool(name string, arguments ...string) string {
	r.t.Helper()
	output, err := exec.CommandContext(r.t.Context(), filepath.Join(root, "bin/tools", name), arguments...).Output()
	if failed, hasFailed := err.(*exec.ExitError); hasFailed { //nolint:errorlint // As exec returns it.
		r.t.Fatalf("%s %s: %s", name, strings.Join(arguments, " "), failed.Stderr)
	}
	r.Expect(err).NotTo(HaveOccurred())
	return string(output)
}
