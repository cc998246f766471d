package workflows

import (
	"encoding/json"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// tracked are the files of the repository whose names match a pattern of git.
func tracked(t *testing.T, patterns ...string) []string {
	t.Helper()
	g := NewWithT(t)
	list := exec.CommandContext(t.Context(), "git", append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "--"}, patterns...)...)
	list.Dir = root
	output, err := list.Output()
	g.Expect(err).NotTo(HaveOccurred())
	files := strings.Fields(string(output))
	g.Expect(files).NotTo(BeEmpty(), "%s", patterns)
	return files
}

func TestRenovateSeesEveryModuleFile(t *testing.T) {
	g := NewWithT(t)
	var config struct {
		Gomod struct {
			ManagerFilePatterns []string `json:"managerFilePatterns"`
		} `json:"gomod"`
	}
	g.Expect(json.Unmarshal([]byte(read(g, ".github/renovate.json")), &config)).To(Succeed())
	patterns := []*regexp.Regexp{regexp.MustCompile(`(^|/)go\.mod$`)} // Renovate's own.
	for _, pattern := range config.Gomod.ManagerFilePatterns {
		patterns = append(patterns, regexp.MustCompile(strings.Trim(pattern, "/")))
	}
	files := tracked(t, "*.mod")
	g.Expect(len(files)).To(BeNumerically(">", 15))
	for _, file := range files {
		isSeen := false
		for _, pattern := range patterns {
			isSeen = isSeen || pattern.MatchString(file)
		}
		g.Expect(isSeen).To(BeTrue(), "%s: no pattern of .github/renovate.json matches it, so it would never be updated", file)
	}
}
