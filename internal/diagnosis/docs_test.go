package diagnosis_test

import (
	"os"
	"regexp"
	"testing"

	. "github.com/onsi/gomega"
)

// The page lists each cause, and quotes a message as it is.
func TestThePageListsEachCause(t *testing.T) {
	g := NewWithT(t)
	page, err := os.ReadFile("../../docs/causes.md")
	g.Expect(err).NotTo(HaveOccurred())
	declared, err := os.ReadFile("../../api/v2/causes.go")
	g.Expect(err).NotTo(HaveOccurred())

	reasons := regexp.MustCompile(`Cause\w+ += "(\w+)"`).FindAllStringSubmatch(string(declared), -1)
	g.Expect(len(reasons)).To(BeNumerically(">", 10))
	for _, reason := range reasons {
		g.Expect(string(page)).To(ContainSubstring("\n| `"+reason[1]+"` |"), "docs/causes.md has no row for %s", reason[1])
	}
	g.Expect(string(page)).To(ContainSubstring(scenarios(t)["crash-loop"].Want.Message))
}
