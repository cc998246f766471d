package plugin_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// krewPlugin is what a manifest of krew has (krew.googlecontainertools.github.com/v1alpha2).
type krewPlugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
	Spec struct {
		Version          string         `json:"version"`
		Homepage         string         `json:"homepage"`
		ShortDescription string         `json:"shortDescription"`
		Description      string         `json:"description"`
		Caveats          string         `json:"caveats"`
		Platforms        []krewPlatform `json:"platforms"`
	} `json:"spec"`
}

type krewPlatform struct {
	Selector struct {
		MatchLabels map[string]string `json:"matchLabels"`
	} `json:"selector"`
	URI    string `json:"uri"`
	SHA256 string `json:"sha256"`
	Bin    string `json:"bin"`
}

func TestTheKrewManifestNamesEveryArchiveThatIsMade(t *testing.T) {
	g := NewWithT(t)
	template, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "config", "krew", "critsvc.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	script, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "hack", "plugin.sh"))
	g.Expect(err).NotTo(HaveOccurred())
	made := regexp.MustCompile(`systems=\((.*)\)`).FindStringSubmatch(string(script))
	g.Expect(made).To(HaveLen(2))

	filled := strings.ReplaceAll(string(template), "{{version}}", "v1.2.3")
	filled = regexp.MustCompile(`\{\{sha256 (\w+)\}\}`).ReplaceAllString(filled, "$1")
	var manifest krewPlugin
	g.Expect(yaml.UnmarshalStrict([]byte(filled), &manifest)).To(Succeed())
	g.Expect(manifest.APIVersion + " " + manifest.Kind).To(Equal("krew.googlecontainertools.github.com/v1alpha2 Plugin"))
	g.Expect(manifest.Metadata.Name).To(Equal("critsvc"))
	g.Expect(manifest.Spec.Version).To(Equal("v1.2.3"))

	var systems []string
	for _, platform := range manifest.Spec.Platforms {
		system := platform.Selector.MatchLabels["os"] + "_" + platform.Selector.MatchLabels["arch"]
		systems = append(systems, system)
		archive, program := ".tar.gz", "kubectl-critsvc"
		if strings.HasPrefix(system, "windows") {
			archive, program = ".zip", "kubectl-critsvc.exe"
		}
		g.Expect(path.Base(platform.URI)).To(Equal("kubectl-critsvc_" + system + archive))
		g.Expect(platform.URI).To(ContainSubstring("/download/v1.2.3/"))
		g.Expect(platform.SHA256).To(Equal(system), "the checksum is that of the same archive")
		g.Expect(platform.Bin).To(Equal(program))
	}
	g.Expect(systems).To(Equal(strings.Fields(made[1])))
}
