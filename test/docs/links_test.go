package docs_test

import (
	"fmt"
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

var (
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	named   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// A link as GitHub shows files, in what is read elsewhere: the catalog, alerts, forms for issues.
	published = regexp.MustCompile(`https://github\.com/critical-service/operator/(?:blob|tree)/[\w.-]+/([\w./-]*)(?:#([\w-]+))?`)
)

// anchors are the fragments of a page that GitHub makes from its headings, and those that it names itself.
func anchors(page string) []string {
	page = fence.ReplaceAllString(page, "")
	var found []string
	times := map[string]int{}
	for _, match := range heading.FindAllStringSubmatch(page, -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(match[1], "$1")
		title = regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		anchor := strings.ReplaceAll(title, " ", "-")
		times[anchor]++
		if times[anchor] > 1 {
			anchor = fmt.Sprintf("%s-%d", anchor, times[anchor]-1)
		}
		found = append(found, anchor)
	}
	for _, match := range named.FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
	}
	return found
}

// texts are the files with one of these endings, by path.
func texts(g Gomega, endings ...string) map[string]string {
	found := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains([]string{"bin", "dist", ".git"}, name) {
			return fs.SkipDir
		}
		if err == nil && entry.Type().IsRegular() && slices.Contains(endings, path.Ext(name)) {
			found[name] = read(g, name)
		}
		return err
	})
	g.Expect(err).NotTo(HaveOccurred())
	return found
}

func TestEveryLinkToAHeadingLeadsToOne(t *testing.T) {
	g := NewWithT(t)
	pages, links := texts(g, ".md"), 0
	for name, page := range pages {
		for _, match := range link.FindAllStringSubmatch(fence.ReplaceAllString(page, ""), -1) {
			file, anchor, hasAnchor := strings.Cut(match[1], "#")
			if !hasAnchor || strings.Contains(file, "://") {
				continue
			}
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			if content, isPage := pages[target]; isPage {
				links++
				g.Expect(anchors(content)).To(ContainElement(anchor), "%s links to %s", name, match[1])
			}
		}
	}
	g.Expect(links).To(BeNumerically(">", 100))
}

func TestEveryPublishedLinkLeadsSomewhere(t *testing.T) {
	g := NewWithT(t)
	links := 0
	for name, text := range texts(g, ".md", ".yaml", ".yml", ".json", ".go", ".html", ".txt") {
		for _, match := range published.FindAllStringSubmatch(text, -1) {
			links++
			target := strings.TrimRight(match[1], ".") // The end of a sentence.
			// A folder where code adds the name of the file.
			g.Expect(filepath.Join(root, target)).To(Or(BeAnExistingFile(), BeADirectory()), "%s links to %s", name, match[0])
			if match[2] != "" {
				g.Expect(anchors(read(g, target))).To(ContainElement(match[2]), "%s links to %s", name, match[0])
			}
		}
	}
	g.Expect(links).To(BeNumerically(">", 20))
}

func TestAnchorsAreThoseOfGitHub(t *testing.T) {
	g := NewWithT(t)
	page := "# A `code` word, and [a link](x.md)\n```sh\n# no heading\n```\n## Twice\n## Twice\n<a id=\"named\"></a>\n### What it costs: 1 & 2\n"
	g.Expect(anchors(page)).To(Equal([]string{"a-code-word-and-a-link", "twice", "twice-1", "what-it-costs-1--2", "named"}))
}
