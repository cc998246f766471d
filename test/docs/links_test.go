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
	named   = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	// A link as GitHub shows files, in what is read elsewhere: the catalog, alerts, forms for issues.
	published = regexp.MustCompile(`https://github\.com/critical-service/operator/(?:blob|tree)/[\w.-]+/([\w./-]*)(?:#([\w-]+))?`)
)

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

// pages are all Markdown files by their path, without their code blocks.
func pages(g Gomega) map[string]string {
	found := texts(g, ".md")
	for name, page := range found {
		found[name] = fence.ReplaceAllString(page, "")
	}
	return found
}

// anchors are those of the headings of a page: their words in lower case, joined by dashes, and
// numbered from the second one that is called the same; and those that it names itself.
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
	for _, match := range named.FindAllStringSubmatch(page, -1) {
		found = append(found, match[1])
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
				g.Expect(anchors(fence.ReplaceAllString(read(g, target), ""))).To(ContainElement(match[2]), "%s links to %s", name, match[0])
			}
		}
	}
	g.Expect(links).To(BeNumerically(">", 20))
}

func TestAnchorsAreThoseThatGitHubMakes(t *testing.T) {
	g := NewWithT(t)
	g.Expect(anchors("# The *kubectl* plugin\n## POD_TEMPLATE and `x-y`\n### Again\n### Again\n## Is it well?\n<a id=\"named\"></a>\n")).
		To(Equal([]string{"the-kubectl-plugin", "pod_template-and-x-y", "again", "again-1", "is-it-well", "named"}))
}
