// Package release_test holds what goes with the artifacts of a release: bills of materials, signatures, and charts in a
// registry.
package release_test

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const root = "../.."

// bom is what these tests look at in a document of CycloneDX.
type bom struct {
	BOMFormat   string `json:"bomFormat"`
	SpecVersion string `json:"specVersion"`
	Metadata    struct {
		Component component `json:"component"`
		Timestamp string    `json:"timestamp"`
	} `json:"metadata"`
	SerialNumber string      `json:"serialNumber"`
	Components   []component `json:"components"`
}

type component struct {
	Type    string `json:"type"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl"`
}

// This test needs cyclonedx-gomod in bin/tools: `make test` builds it.
func TestABillOfMaterialsHasTheModulesOfTheProgram(t *testing.T) {
	g := NewWithT(t)
	program, written := filepath.Join(t.TempDir(), "responder"), filepath.Join(t.TempDir(), "bom.json")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-buildvcs=false", "-o", program, "./cmd/responder")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	said, err := build.CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	said, err = exec.CommandContext(t.Context(), filepath.Join(root, "hack/sbom.sh"), "v1.2.3", program, written).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(said))
	data, err := os.ReadFile(written)
	g.Expect(err).NotTo(HaveOccurred())
	var read bom
	g.Expect(json.Unmarshal(data, &read)).To(Succeed())
	g.Expect(read.BOMFormat).To(Equal("CycloneDX"))
	g.Expect(read.SpecVersion).To(Equal("1.6"))
	g.Expect(read.Metadata.Component).To(Equal(component{
		"application", "github.com/critical-service/operator", "v1.2.3", read.Metadata.Component.PURL,
	}))
	g.Expect(read.Metadata.Component.PURL).To(HavePrefix("pkg:golang/github.com/critical-service/operator@v1.2.3"))
	g.Expect(read.Metadata.Timestamp+read.SerialNumber).To(BeEmpty(), "the same program gives the same bytes")

	info, err := buildinfo.ReadFile(program)
	g.Expect(err).NotTo(HaveOccurred())
	expected := []string{"std go" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, module := range info.Deps {
		expected = append(expected, module.Path+" "+module.Version)
	}
	g.Expect(len(expected)).To(BeNumerically(">", 5))
	var found []string
	for _, one := range read.Components {
		found = append(found, one.Name+" "+one.Version)
		g.Expect(one.Type).To(Equal("library"))
		g.Expect(one.PURL).To(HavePrefix("pkg:golang/" + one.Name + "@"))
	}
	g.Expect(found).To(ConsistOf(expected))
}
