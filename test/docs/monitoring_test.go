package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWhatUsersOfOLMApplyExists(t *testing.T) {
	g := NewWithT(t)
	_, part, found := strings.Cut(read(g, "docs/metrics.md"), "### With OLM\n")
	g.Expect(found).To(BeTrue())
	addresses := regexp.MustCompile(`https://(?:github|raw\.githubusercontent)\.com/critical-service/operator/(?:/|v[0-9.]+/)([a-z_/.]+)`).FindAllStringSubmatch(part, -1)
	g.Expect(len(addresses)).To(BeNumerically(">=", 3))
	for _, path := range addresses {
		g.Expect(filepath.Join(root, path[1])).To(BeAnExistingFile())
	}
}
