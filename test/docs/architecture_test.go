package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const architecturePage = "docs/maintainers/architecture.md"

// mapped are the folders that the map of the code names. A line names one or more, and stands below the folder that
// it is indented by.
func mapped(text string) []string {
	var folders, above []string
	for _, line := range regexp.MustCompile(`(?m)^((?: {2})*)(\w[\w./-]*/(?:, \w[\w./-]*/)*)(?: |$)`).FindAllStringSubmatch(text, -1) {
		depth := len(line[1]) / 2
		if depth > len(above) {
			continue // A description that goes on.
		}
		above = above[:depth]
		var name string
		for name = range strings.SplitSeq(line[2], ", ") {
			folders = append(folders, path.Join(path.Join(above...), name))
		}
		above = append(above, name)
	}
	return folders
}

// A newcomer looks for a package on the map.
func TestTheMapNamesEveryPackage(t *testing.T) {
	g := NewWithT(t)
	_, text, _ := strings.Cut(read(g, architecturePage), "```text\n")
	text, _, _ = strings.Cut(text, "```")
	folders := mapped(text)
	for _, top := range []string{"api", "controllers", "internal", "workloads/api", "workloads/controllers", "workloads/internal"} {
		packages := 0
		g.Expect(fs.WalkDir(os.DirFS(root), top, func(name string, entry fs.DirEntry, err error) error {
			files, _ := filepath.Glob(filepath.Join(root, name, "*.go")) // The pattern is a good one.
			if err != nil || !entry.IsDir() || len(files) == 0 || strings.HasSuffix(name, "test") {
				return err
			}
			packages++
			if !slices.Contains(folders, name) {
				t.Errorf("%s does not name %s", architecturePage, name)
			}
			return nil
		})).To(Succeed())
		g.Expect(packages).To(BeNumerically(">", 0), top)
	}
}
