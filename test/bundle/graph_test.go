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

// entry is one of a channel of the upgrade graph, or what a bundle says in its place.
type entry struct {
	Name, Replaces string
	Skips          []string
}

// inGraph is the place of a version in the upgrade graph of its package: in stable-v1, or as a candidate if it is nothing else.
func inGraph(g Gomega, name string) (channel string, place entry) {
	pkg, _, _ := strings.Cut(name, ".")
	for _, text := range regexp.MustCompile(`(?m)^---$`).Split(read(g, "catalog/"+pkg+"/channels.yaml"), -1) {
		var document struct {
			Name    string
			Entries []entry
		}
		g.Expect(yaml.Unmarshal([]byte(text), &document)).To(Succeed())
		for _, entry := range document.Entries {
			if entry.Name == name && channel != "stable-v1" {
				channel, place = document.Name, entry
			}
		}
	}
	return channel, place
}

// placeOf is what a bundle says of its place in a channel.
func placeOf(bundle *manifests.Bundle) entry {
	return entry{Name: bundle.CSV.Name, Replaces: bundle.CSV.Spec.Replaces, Skips: bundle.CSV.Spec.Skips}
}

func TestTheBundleReplacesWhatTheUpgradeGraphSays(t *testing.T) {
	g := NewWithT(t)
	_, place := inGraph(g, csv(g).Name)
	g.Expect(placeOf(load(g))).To(Equal(place))
}

// A graph as it is in later versions: v1.1.0 was stable, and was taken back; v1.1.1 is stable at once; v1.2.0 is
// a candidate.
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
- name: critical-service-operator.v1.1.0-rc.1
  replaces: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.0
  replaces: critical-service-operator.v1.1.0-rc.1
- name: critical-service-operator.v1.1.1
  replaces: critical-service-operator.v1.1.0
- name: critical-service-operator.v1.2.0
  replaces: critical-service-operator.v1.1.1
  skips: [critical-service-operator.v1.1.2, critical-service-operator.v1.1.3]
`

// earlierGraph is the one before v1.1.0 was taken back.
const earlierGraph = `schema: olm.channel
package: critical-service-operator
name: stable-v1
entries:
- name: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.0
  replaces: critical-service-operator.v1.0.0
---
schema: olm.channel
package: critical-service-operator
name: candidate-v1
entries:
- name: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.0-rc.1
  replaces: critical-service-operator.v1.0.0
- name: critical-service-operator.v1.1.0
  replaces: critical-service-operator.v1.1.0-rc.1
`

// scratch is a copy of all that a bundle is made of, with a graph.
func scratch(t *testing.T, upgrades string) string {
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
	write(graph, upgrades)
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

// bundleOf is the bundle that hack/bundle.sh makes of a version in a folder.
func bundleOf(t *testing.T, folder, version string) *manifests.Bundle {
	g := NewWithT(t)
	output := filepath.Join(t.TempDir(), "bundle")
	said, err := makeBundle(t, folder, "--version", version, "--image", imageByDigest, "--output", output)
	g.Expect(err).NotTo(HaveOccurred(), said)
	made, err := manifests.GetBundleFromDir(output)
	g.Expect(err).NotTo(HaveOccurred())
	return made
}

// These tests need operator-sdk and kustomize in bin/tools: `make test` builds them.
func TestABundleTakesItsPlaceFromTheUpgradeGraph(t *testing.T) {
	folder := scratch(t, laterGraph)
	tests := map[string]struct {
		version, channel, replaces string
		skips                      []string
	}{
		"the first version replaces nothing": {version: "1.0.0", channel: "stable-v1"},
		"a candidate is in no other channel": {
			version: "1.2.0", channel: "candidate-v1", replaces: "critical-service-operator.v1.1.1",
			skips: []string{"critical-service-operator.v1.1.2", "critical-service-operator.v1.1.3"},
		},
		"what is stable replaces the stable one before it, and skips what was taken back": {
			version: "1.1.1", channel: "stable-v1", replaces: "critical-service-operator.v1.0.0",
			skips: []string{"critical-service-operator.v1.1.0"},
		},
		"a version for a test, not in the graph, has a channel": {version: "0.9.0", channel: "stable-v1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			made := bundleOf(t, folder, test.version)
			g.Expect(placeOf(made)).To(Equal(entry{"critical-service-operator.v" + test.version, test.replaces, test.skips}))
			g.Expect(linksOf(made.CSV)).To(HaveEach(ContainElement("v"+test.version)), "tags of links")
			g.Expect(made.Channels).To(ConsistOf(test.channel))
			// The default of the package is that of its newest bundle, candidates included.
			g.Expect(made.DefaultChannel).To(Equal("stable-v1"))
		})
	}
}

const graphOfAFork = `schema: olm.channel
package: critical-service-operator
name: alpha
entries:
- name: critical-service-operator.v0.0.6
- name: critical-service-operator.v0.0.7
  replaces: critical-service-operator.v0.0.6
- name: critical-service-operator.v0.0.8
  replaces: critical-service-operator.v0.0.7
---
schema: olm.channel
package: critical-service-operator
name: beta
entries:
- name: critical-service-operator.v0.0.6
- name: critical-service-operator.v0.0.8
  replaces: critical-service-operator.v0.0.6
`

func TestABundleOfAForkTakesItsPlaceFromItsChannel(t *testing.T) {
	folder := scratch(t, graphOfAFork)
	for sentence, c := range map[string]struct{ version, given, channels, replaces, says string }{
		"the only one that has it":              {version: "0.0.7", channels: "alpha", replaces: "critical-service-operator.v0.0.6"},
		"the first of several that are given":   {version: "0.0.8", given: "alpha,beta", channels: "alpha,beta", replaces: "critical-service-operator.v0.0.7"},
		"none, if it is given one without it":   {version: "0.0.7", given: "gamma", channels: "gamma"},
		"not any of several, without a request": {version: "0.0.8", says: "channels.yaml has critical-service-operator.v0.0.8 in alpha,beta: give CHANNELS, and first the one whose 'replaces'"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			output := filepath.Join(t.TempDir(), "bundle")
			arguments := []string{"--version", c.version, "--image", imageByDigest, "--scorecard-image", imageByDigest, "--output", output}
			if c.given != "" {
				arguments = append(arguments, "--channels", c.given)
			}
			said, err := makeBundle(t, folder, arguments...)
			if c.says != "" {
				g.Expect(err).To(HaveOccurred())
				g.Expect(said).To(ContainSubstring(c.says))
				return
			}
			g.Expect(err).NotTo(HaveOccurred(), said)
			made, err := manifests.GetBundleFromDir(output)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(strings.Join(made.Channels, ",")).To(Equal(c.channels))
			g.Expect(placeOf(made).Replaces).To(Equal(c.replaces))
		})
	}
}

// upgrades are the steps of each channel in a catalog in replaces-mode that got these bundles one after the other:
// from which version to which. As operator-registry does it (addPackageChannels), the newest bundle that names a
// channel is its head, and the rest follows from replaces and skips, whatever channels those bundles name.
func upgrades(g Gomega, submitted ...*manifests.Bundle) map[string]map[string]string {
	bundles, heads := map[string]*manifests.Bundle{}, map[string]string{}
	for _, bundle := range submitted {
		bundles[bundle.CSV.Name] = bundle
		for _, channel := range bundle.Channels {
			heads[channel] = bundle.CSV.Name
		}
	}
	steps := map[string]map[string]string{}
	for channel, head := range heads {
		steps[channel] = map[string]string{}
		for name := head; name != ""; name = bundles[name].CSV.Spec.Replaces {
			g.Expect(bundles).To(HaveKey(name), "%s is in channel %s, and was never submitted", name, channel)
			place := placeOf(bundles[name])
			for _, from := range append(place.Skips, place.Replaces) {
				g.Expect(steps[channel]).NotTo(HaveKey(from))
				if from != "" {
					steps[channel][from] = name
				}
			}
		}
	}
	return steps
}

// The community's catalog is in replaces-mode, and gets stable versions only (docs/maintainers/operatorhub.md).
func TestACatalogInReplacesModeHasWhatIsStable(t *testing.T) {
	const one, two, three = "critical-service-operator.v1.0.0", "critical-service-operator.v1.1.0", "critical-service-operator.v1.1.1"
	g := NewWithT(t)
	before, after := scratch(t, earlierGraph), scratch(t, laterGraph)
	first, second := bundleOf(t, before, "1.0.0"), bundleOf(t, before, "1.1.0")
	g.Expect(upgrades(g, first, second)).To(Equal(map[string]map[string]string{"stable-v1": {one: two}}))
	// v1.1.0 is taken back: the next version comes from both, and v1.1.0 is no step any more.
	g.Expect(upgrades(g, first, second, bundleOf(t, after, "1.1.1"))).To(Equal(map[string]map[string]string{"stable-v1": {one: three, two: three}}))

	// What was a candidate for some time is made again when it becomes stable, and has another place then.
	g.Expect(placeOf(bundleOf(t, after, "1.1.0")).Replaces).To(HaveSuffix("-rc.1"))
	g.Expect(placeOf(second).Replaces).To(Equal(one))
}

func TestABundleIsRefused(t *testing.T) {
	tests := map[string]struct {
		manager string
		flags   []string
		said    string
	}{
		"that is in no channel": {
			flags: []string{"--version", "1.3.0"},
			said:  graph + " has no entry of critical-service-operator.v1.3.0.\n",
		},
		"that names a channel twice": {
			flags: []string{"--version", "1.0.0", "--channels", "alpha,beta,alpha"},
			said:  "There is no bundle: CHANNELS is 'alpha,beta,alpha', which has alpha twice.\n",
		},
		"whose default is beside channels of another catalog": {
			flags: []string{"--version", "1.0.0", "--channels", "alpha", "--default-channel", "stable-v1"},
			said:  "There is no bundle: DEFAULT_CHANNEL is stable-v1, which is neither one of alpha nor beside them in " + graph,
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
			folder := scratch(t, laterGraph)
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
