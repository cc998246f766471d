package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	picture = regexp.MustCompile(`\b(?:src|srcset)="([^"]+)"`)
	fence   = regexp.MustCompile("(?s)```.*?```")
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// pages are all Markdown files by their path, without their code blocks.
func pages(g Gomega) map[string]string {
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains([]string{".git", "bin", "dist"}, name) {
			return fs.SkipDir
		}
		if err == nil && path.Ext(name) == ".md" {
			found[name] = fence.ReplaceAllString(read(g, name), "")
		}
		return err
	})
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

// anchors are those of the headings of a page: their words in lower case, joined by dashes, and
// numbered from the second one that is called the same.
func anchors(page string) []string {
	var found []string
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		text := link.ReplaceAllString(match[1], "]")
		text = regexp.MustCompile(`[^\pL\pN _-]`).ReplaceAllString(strings.ToLower(text), "")
		anchor := strings.ReplaceAll(text, " ", "-")
		for number := 1; slices.Contains(found, anchor); number++ {
			anchor = strings.ReplaceAll(text, " ", "-") + "-" + strconv.Itoa(number)
		}
		found = append(found, anchor)
	}
	return found
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	all, links, toHeadings := pages(g), 0, 0
	for name, page := range all {
		for _, match := range append(link.FindAllStringSubmatch(page, -1), picture.FindAllStringSubmatch(page, -1)...) {
			if strings.Contains(match[1], "://") {
				continue
			}
			links++
			file, anchor, hasAnchor := strings.Cut(match[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, match[1])
			} else if hasAnchor {
				toHeadings++
				if !slices.Contains(anchors(all[target]), anchor) {
					t.Errorf("%s links to %s, and %s has no such heading", name, match[1], target)
				}
			}
		}
	}
	g.Expect(links).To(BeNumerically(">", 200))
	g.Expect(toHeadings).To(BeNumerically(">", 50))
}

func TestAnchorsAreThoseThatGitHubMakes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(anchors("# The *kubectl* plugin\n## POD_TEMPLATE and `x-y`\n### Again\n### Again\n## Is it well?\n")).
		To(Equal([]string{"the-kubectl-plugin", "pod_template-and-x-y", "again", "again-1", "is-it-well"}))
}
