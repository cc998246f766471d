package bundle

import (
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A criterion that is shown by a test which does not exist is not shown.
func TestEveryTestThatIsNamedAsProofExists(t *testing.T) {
	g := NewWithT(t)
	var tests []string
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && (path == "bin" || path == ".git") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, match := range function.FindAllStringSubmatch(read(g, path), -1) {
			tests = append(tests, match[1])
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	for _, page := range []string{"docs/maintainers/capabilities.md", "docs/maintainers/operatorhub.md"} {
		names := regexp.MustCompile(`\bTest[A-Z]\w+`).FindAllString(strings.ReplaceAll(read(g, page), "TestName", ""), -1)
		g.Expect(len(names)).To(BeNumerically(">", 10), page)
		for _, name := range names {
			// -run takes a beginning of a name.
			g.Expect(tests).To(ContainElement(HavePrefix(name)), "%s names %s as a proof", page, name)
		}
	}
}

// A target that is named as proof must be one of the Makefile.
func TestEveryTargetThatIsNamedAsProofExists(t *testing.T) {
	g := NewWithT(t)
	makefile := read(g, "Makefile") + read(g, "hack/project.mk")
	for _, page := range []string{"docs/maintainers/capabilities.md", "docs/maintainers/operatorhub.md"} {
		for _, target := range regexp.MustCompile("(?m)(?:`|^)make ([a-z][a-z0-9-]+)").FindAllStringSubmatch(read(g, page), -1) {
			g.Expect(makefile).To(MatchRegexp(`(?m)^`+target[1]+`:`), "%s names make %s as a proof", page, target[1])
		}
	}
}
