package bundle

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	"sigs.k8s.io/yaml"
)

const graph = "catalog/critical-service-operator/channels.yaml"

// inGraph is what the upgrade graph says of a version: which channels have it,
// and what it replaces as a candidate.
func inGraph(g Gomega, name string) (channels []string, replaces string) {
	for _, text := range regexp.MustCompile(`(?m)^---$`).Split(read(g, graph), -1) {
		var channel struct {
			Name    string
			Entries []struct{ Name, Replaces string }
		}
		g.Expect(yaml.Unmarshal([]byte(text), &channel)).To(Succeed())
		for _, entry := range channel.Entries {
			if entry.Name != name {
				continue
			}
			channels = append(channels, channel.Name)
			if channel.Name == "candidate-v1" {
				replaces = entry.Replaces
			}
		}
	}
	return channels, replaces
}

func TestTheBundleReplacesWhatTheUpgradeGraphSays(t *testing.T) {
	g := NewWithT(t)
	_, replaces := inGraph(g, csv(g).Name)
	g.Expect(csv(g).Spec.Replaces).To(Equal(replaces))
}

// A graph as it is in later versions: v1.1.0 is a candidate that was never
// stable, v1.1.1 came after it and is stable at once, v1.2.0 is a candidate.
const laterGraph = `# The upgrade graph.
schema: olm.channel
package: critical-service-operator
name: stable-v1
entries:
- name: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.1
  replaces: critical-service-operator.v1.0.0
  skips:
  - critical-service-operator.v1.1.0
---
schema: olm.channel
package: critical-service-operator
name: candidate-v1
entries:
- name: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.0
  replaces: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.1
  replaces: critical-service-operator.v1.1.0
- name: critical-service-operator.v1.2.0
  replaces: critical-service-operator.v1.1.1
`

// scratch is a copy of all that a bundle is made of, with the later graph.
func scratch(t *testing.T) string {
	g := NewWithT(t)
	folder := t.TempDir()
	for _, name := range []string{"api", "config"} {
		g.Expect(os.CopyFS(filepath.Join(folder, name), os.DirFS(filepath.Join(root, name)))).To(Succeed())
	}
	write := func(name, content string) {
		path := filepath.Join(folder, name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
	}
	for _, name := range []string{"hack/bundle.sh", "hack/project.sh", "PROJECT", "go.mod", "go.sum"} {
		write(name, read(g, name))
	}
	write(graph, laterGraph)
	return folder
}

// makeBundle runs hack/bundle.sh in a folder, and is what it said.
func makeBundle(t *testing.T, folder string, arguments ...string) (string, error) {
	tools, err := filepath.Abs(filepath.Join(root, "bin/tools"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	command := exec.CommandContext(t.Context(), "bash", append([]string{"hack/bundle.sh"}, arguments...)...)
	command.Dir = folder
	command.Env = append(os.Environ(), "TOOLS="+tools, "USE_IMAGE_DIGESTS=true")
	output, err := command.CombinedOutput()
	return string(output), err
}

var imageByDigest = "example.com/operator@sha256:" + strings.Repeat("a", 64)

// These tests need operator-sdk and kustomize in bin/tools: `make test` builds them.
func TestABundleTakesItsPlaceFromTheUpgradeGraph(t *testing.T) {
	folder := scratch(t)
	tests := map[string]struct {
		version, replaces string
		channels          []string
	}{
		"the first version replaces nothing":                   {version: "1.0.0", channels: []string{"stable-v1", "candidate-v1"}},
		"a candidate is in no other channel":                   {version: "1.2.0", replaces: "critical-service-operator.v1.1.1", channels: []string{"candidate-v1"}},
		"what is stable replaces the candidate before it":      {version: "1.1.1", replaces: "critical-service-operator.v1.1.0", channels: []string{"stable-v1", "candidate-v1"}},
		"a version for a test, not in the graph, has channels": {version: "0.9.0", channels: []string{"stable-v1", "candidate-v1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			output := filepath.Join(t.TempDir(), "bundle")
			said, err := makeBundle(t, folder, "--version", test.version, "--image", imageByDigest, "--output", output)
			g.Expect(err).NotTo(HaveOccurred(), said)
			made, err := manifests.GetBundleFromDir(output)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(made.CSV.Name).To(Equal("critical-service-operator.v" + test.version))
			g.Expect(made.CSV.Spec.Replaces).To(Equal(test.replaces))
			g.Expect(linksOf(made.CSV)).To(HaveEach(ContainElement("v"+test.version)), "tags of links")
			g.Expect(made.Channels).To(ConsistOf(test.channels))
			// The default of the package is that of its newest bundle, candidates included.
			g.Expect(made.DefaultChannel).To(Equal("stable-v1"))
		})
	}
}

func TestABundleIsRefused(t *testing.T) {
	tests := map[string]struct {
		manager string
		flags   []string
		said    string
	}{
		"that is in no channel": {
			flags: []string{"--version", "1.3.0"},
			said:  graph + " has no entry of critical-service-operator.v1.3.0: add one to candidate-v1, and to stable-v1 if it goes there at once.",
		},
		"that is to name images by digest, and has one that does not": {
			manager: "      initContainers:\n      - name: another\n        image: example.com/another:v1.0.0\n      containers:\n",
			flags:   []string{"--version", "1.0.0"},
			said:    "image: example.com/another:v1.0.0\nThere is no bundle: it names the images above by tag",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			folder := scratch(t)
			if test.manager != "" {
				changed := strings.Replace(read(g, "config/manager/manager.yaml"), "      containers:\n", test.manager, 1)
				g.Expect(os.WriteFile(filepath.Join(folder, "config/manager/manager.yaml"), []byte(changed), 0o600)).To(Succeed())
			}
			said, err := makeBundle(t, folder, append(test.flags, "--image", imageByDigest)...)
			g.Expect(err).To(HaveOccurred())
			g.Expect(said).To(ContainSubstring(test.said))
			g.Expect(filepath.Join(folder, "bundle")).NotTo(BeADirectory())
		})
	}
}
