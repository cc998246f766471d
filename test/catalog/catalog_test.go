// Package catalog_test holds the catalog that OLM installs from against the
// rules of an upgrade graph that `opm validate` does not know.
package catalog_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/version"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	folder      = "../../catalog"
	packageName = "critical-service-operator"
	stable      = "stable-v1"
	candidate   = "candidate-v1"
)

// document is one of a file-based catalog: what matters here of a package, a
// channel or a bundle.
type document struct {
	Schema         string  `json:"schema"`
	Name           string  `json:"name"`
	Package        string  `json:"package"`
	DefaultChannel string  `json:"defaultChannel"`
	Image          string  `json:"image"`
	Entries        []entry `json:"entries"`
}

type entry struct {
	Name      string `json:"name"`
	Replaces  string `json:"replaces"`
	SkipRange string `json:"skipRange"`
}

func TestTheCatalogCanBeUpgradedAlong(t *testing.T) {
	g := NewWithT(t)
	documents, err := load(folder)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(faults(documents)).To(BeEmpty())
}

// Whether the file says what the bundle says is checked by `make verify`, until
// the version is released.
func TestTheCatalogHasTheVersionOfEachBundle(t *testing.T) {
	g := NewWithT(t)
	documents, err := load(folder)
	g.Expect(err).NotTo(HaveOccurred())
	packages := map[string]string{"../..": packageName, "../../workloads": "critical-service-workloads"}
	g.Expect(names(documents, "olm.package")).To(ConsistOf(slices.Collect(maps.Values(packages))))
	for project, name := range packages {
		data, err := os.ReadFile(filepath.Join(project, "bundle/manifests", name+".clusterserviceversion.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		var csv struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		g.Expect(yaml.Unmarshal(data, &csv)).To(Succeed())
		g.Expect(names(documents, "olm.bundle")).To(ContainElement(csv.Metadata.Name))
	}
}

func TestEachPackageOfACatalogIsJudgedByItself(t *testing.T) {
	g := NewWithT(t)
	second := twoVersions()
	for i := range second {
		rename := func(name string) string { return strings.Replace(name, packageName, "critical-service-workloads", 1) }
		second[i].Name, second[i].Package = rename(second[i].Name), rename(second[i].Package)
		for j, this := range second[i].Entries {
			second[i].Entries[j].Name, second[i].Entries[j].Replaces = rename(this.Name), rename(this.Replaces)
		}
	}
	g.Expect(faults(slices.Concat(twoVersions(), second))).To(BeEmpty())
	second[1].Entries[1].Replaces = "critical-service-operator.v1.0.0"
	g.Expect(faults(slices.Concat(twoVersions(), second))).To(ContainElement(
		"critical-service-workloads.v1.1.0 in channel stable-v1 replaces critical-service-operator.v1.0.0, which is not in the channel"))
}

func TestWhatIsWrongWithAGraphIsSaid(t *testing.T) {
	tests := map[string]struct {
		change func(documents []document) []document
		said   string
	}{
		"nothing is wrong": {change: func(documents []document) []document { return documents }},
		"a version that replaces nothing is a second beginning": {
			change: inStable(func(channel *document) { channel.Entries[1].Replaces = "" }),
			said:   "channel stable-v1 begins with critical-service-operator.v1.0.0 and critical-service-operator.v1.1.0: only one version may replace nothing",
		},
		"a range to skip does not stand for a version that is replaced": {
			change: inStable(func(channel *document) {
				channel.Entries[1].Replaces, channel.Entries[1].SkipRange = "", ">=1.0.0 <1.1.0"
			}),
			said: "critical-service-operator.v1.1.0 in channel stable-v1 has skipRange without replaces",
		},
		"a version that is replaced must be there": {
			change: inStable(func(channel *document) { channel.Entries[1].Replaces = "critical-service-operator.v1.0.1" }),
			said:   "critical-service-operator.v1.1.0 in channel stable-v1 replaces critical-service-operator.v1.0.1, which is not in the channel",
		},
		"a version replaces an earlier one": {
			change: inStable(func(channel *document) {
				channel.Entries[0].Replaces, channel.Entries[1].Replaces = "critical-service-operator.v1.1.0", ""
			}),
			said: "critical-service-operator.v1.0.0 in channel stable-v1 replaces critical-service-operator.v1.1.0, which is not earlier",
		},
		"two versions do not replace the same one": {
			change: func(documents []document) []document {
				third := document{Schema: "olm.bundle", Package: packageName, Name: packageName + ".v1.2.0", Image: "example.com/bundle:v1.2.0"}
				documents[1].Entries = append(documents[1].Entries, entry{Name: third.Name, Replaces: documents[1].Entries[0].Name})
				documents[2].Entries = append(documents[2].Entries, entry{Name: third.Name, Replaces: documents[2].Entries[1].Name})
				return append(documents, third)
			},
			said: "critical-service-operator.v1.0.0 in channel stable-v1 is replaced twice",
		},
		"an entry needs a bundle": {
			change: func(documents []document) []document { return documents[:len(documents)-1] },
			said:   "critical-service-operator.v1.1.0 in channel stable-v1 has no bundle in the catalog",
		},
		"a bundle needs an entry": {
			change: func(documents []document) []document {
				return append(documents, document{Schema: "olm.bundle", Package: packageName, Name: packageName + ".v2.0.0", Image: "example.com/bundle:v2.0.0"})
			},
			said: "bundle critical-service-operator.v2.0.0 is in no channel",
		},
		"a bundle needs an image": {
			change: func(documents []document) []document { documents[3].Image = ""; return documents },
			said:   "bundle critical-service-operator.v1.0.0 names no image",
		},
		"the default channel must be there": {
			change: func(documents []document) []document { documents[0].DefaultChannel = "stable-v2"; return documents },
			said:   "the default channel is stable-v2, and has to be stable-v1",
		},
		"there are two channels": {
			change: func(documents []document) []document { return slices.Delete(documents, 2, 3) },
			said:   "channel candidate-v1 is missing",
		},
		"what is stable was a candidate": {
			change: func(documents []document) []document {
				documents[2].Entries = documents[2].Entries[:1]
				return documents
			},
			said: "critical-service-operator.v1.1.0 is in channel stable-v1 and not in candidate-v1",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := faults(test.change(twoVersions()))
			if test.said == "" {
				g.Expect(found).To(BeEmpty())
			} else {
				g.Expect(found).To(ContainElement(test.said))
			}
		})
	}
}

func twoVersions() []document {
	const first, second = packageName + ".v1.0.0", packageName + ".v1.1.0"
	entries := []entry{{Name: first}, {Name: second, Replaces: first}}
	return []document{
		{Schema: "olm.package", Name: packageName, DefaultChannel: stable},
		{Schema: "olm.channel", Package: packageName, Name: stable, Entries: slices.Clone(entries)},
		{Schema: "olm.channel", Package: packageName, Name: candidate, Entries: slices.Clone(entries)},
		{Schema: "olm.bundle", Package: packageName, Name: first, Image: "example.com/bundle:v1.0.0"},
		{Schema: "olm.bundle", Package: packageName, Name: second, Image: "example.com/bundle:v1.1.0"},
	}
}

func inStable(change func(channel *document)) func([]document) []document {
	return func(documents []document) []document {
		change(&documents[1])
		return documents
	}
}

// faults are what is wrong with a catalog, as sentences.
func faults(documents []document) []string {
	var found []string
	for _, name := range names(documents, "olm.package") {
		found = append(found, faultsOfPackage(slices.DeleteFunc(slices.Clone(documents), func(document document) bool {
			return document.Name != name && document.Package != name
		}))...)
	}
	return found
}

func faultsOfPackage(documents []document) []string {
	var found []string
	for _, document := range documents {
		if document.Schema == "olm.package" && document.DefaultChannel != stable {
			found = append(found, fmt.Sprintf("the default channel is %s, and has to be %s", document.DefaultChannel, stable))
		}
	}
	inChannels := map[string][]string{}
	for _, document := range documents {
		if document.Schema != "olm.channel" {
			continue
		}
		found = append(found, faultsOfChannel(document, names(documents, "olm.bundle"))...)
		for _, entry := range document.Entries {
			inChannels[document.Name] = append(inChannels[document.Name], entry.Name)
		}
	}
	for _, channel := range []string{stable, candidate} {
		if _, isThere := inChannels[channel]; !isThere {
			found = append(found, fmt.Sprintf("channel %s is missing", channel))
		}
	}
	for _, name := range inChannels[stable] {
		if !slices.Contains(inChannels[candidate], name) {
			found = append(found, fmt.Sprintf("%s is in channel %s and not in %s", name, stable, candidate))
		}
	}
	return append(found, faultsOfBundles(documents, inChannels)...)
}

func faultsOfChannel(channel document, bundles []string) []string {
	var found, beginnings, replaced []string
	for _, this := range channel.Entries {
		say := func(format string, arguments ...any) {
			found = append(found, fmt.Sprintf("%s in channel %s ", this.Name, channel.Name)+fmt.Sprintf(format, arguments...))
		}
		if !slices.Contains(bundles, this.Name) {
			say("has no bundle in the catalog")
		}
		if this.Replaces == "" {
			beginnings = append(beginnings, this.Name)
			if this.SkipRange != "" {
				say("has skipRange without replaces")
			}
			continue
		}
		isThere := slices.ContainsFunc(channel.Entries, func(other entry) bool { return other.Name == this.Replaces })
		switch {
		case !isThere:
			say("replaces %s, which is not in the channel", this.Replaces)
		case !isEarlier(this.Replaces, this.Name):
			say("replaces %s, which is not earlier", this.Replaces)
		case slices.Contains(replaced, this.Replaces):
			found = append(found, fmt.Sprintf("%s in channel %s is replaced twice", this.Replaces, channel.Name))
		}
		replaced = append(replaced, this.Replaces)
	}
	if len(beginnings) > 1 {
		found = append(found, fmt.Sprintf("channel %s begins with %s: only one version may replace nothing", channel.Name, strings.Join(beginnings, " and ")))
	}
	return found
}

func faultsOfBundles(documents []document, inChannels map[string][]string) []string {
	var found []string
	for _, document := range documents {
		if document.Schema != "olm.bundle" {
			continue
		}
		if document.Image == "" {
			found = append(found, fmt.Sprintf("bundle %s names no image", document.Name))
		}
		if !slices.Contains(slices.Concat(inChannels[stable], inChannels[candidate]), document.Name) {
			found = append(found, fmt.Sprintf("bundle %s is in no channel", document.Name))
		}
	}
	return found
}

func names(documents []document, schema string) []string {
	var found []string
	for _, document := range documents {
		if document.Schema == schema {
			found = append(found, document.Name)
		}
	}
	return found
}

// isEarlier compares two names like critical-service-operator.v1.2.3.
func isEarlier(name, than string) bool {
	_, name, _ = strings.Cut(name, ".")
	_, than, _ = strings.Cut(than, ".")
	this, err := version.ParseSemantic(name)
	other, otherErr := version.ParseSemantic(than)
	return err == nil && otherErr == nil && this.LessThan(other)
}

// load reads every document of a catalog.
func load(folder string) ([]document, error) {
	var documents []document
	err := filepath.WalkDir(folder, func(path string, file fs.DirEntry, err error) error {
		if err != nil || file.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
		for {
			text, err := reader.Read()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			var read document
			if err := yaml.Unmarshal(text, &read); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			documents = append(documents, read)
		}
	})
	return documents, err
}
