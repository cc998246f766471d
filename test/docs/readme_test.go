package docs_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// A reader has three minutes.
func TestTheReadmeIsShort(t *testing.T) {
	g := NewWithT(t)
	words := regexp.MustCompile(`\S*[\pL\d]\S*`).FindAllString(read(g, "README.md"), -1) // The lines of a table are none.
	g.Expect(len(words)).To(BeNumerically("<=", 900), "words of README.md; what does not fit belongs on a page of docs/")
}

// What visitors look for first, in this order.
func TestTheReadmeShowsWhatThereIs(t *testing.T) {
	g := NewWithT(t)
	rest := read(g, "README.md")
	for _, element := range []string{
		"actions/workflows/ci.yaml/badge.svg", "img.shields.io/github/go-mod/", "img.shields.io/badge/license-", "](docs/images/failover.svg)",
		"\nmake demo ", "\nmake test ",
		`srcset="docs/images/page-dark.png"`, `src="docs/images/page-light.png"`, `src="docs/images/page-phone.png"`, "](docs/images/plugin.svg)",
		"\nmake deploy ", "\nhelm install ", "\nmake run-bundle ",
	} {
		_, after, isThere := strings.Cut(rest, element)
		g.Expect(isThere).To(BeTrue(), "README.md has no %q, or has it earlier", element)
		rest = after
	}
	for _, shown := range regexp.MustCompile(`docs/images/[\w.-]+|workflows/[\w-]+\.yaml`).FindAllString(read(g, "README.md"), -1) {
		if workflow, isWorkflow := strings.CutPrefix(shown, "workflows/"); isWorkflow {
			shown = ".github/workflows/" + workflow
		}
		g.Expect(path.Join(root, shown)).To(BeAnExistingFile())
	}
}

// measured is a figure on a page: the one group of a pattern.
type measured struct{ page, pattern string }

func (m measured) figure(g Gomega) string {
	found := regexp.MustCompile(m.pattern).FindStringSubmatch(read(g, m.page))
	g.Expect(found).To(HaveLen(2), "%s has nothing like %s", m.page, m.pattern)
	return found[1]
}

func TestTheFiguresOfTheReadmeAreMeasured(t *testing.T) {
	// The last two columns of the table: v1 and v2, each beginning with the median of the rounds.
	const v1, v2 = `(?m)^\| %s \|.*?\| (\d+\.\d+ s), at most [^|]*\|[^|]*\|$`, `(?m)^\| %s \|.*\| (\d+\.\d+ s), at most [^|]*\|$`
	outage := func(pattern, name string) measured {
		return measured{"docs/failover.md", strings.Replace(pattern, "%s", name, 1)}
	}
	for claim, source := range map[string]measured{
		"| **%s** without an answer | the last Pod is unready, and still listens": outage(v2, "failing readiness"),
		"| **%s** without an answer | the last Pod crashes:":                      outage(v2, "crash"),
		"A Pod created only then: %s |":                                           outage(v1, "crash"),
		"| **%s s** on top, at worst ":                                            {"docs/scale.md", `(?m)^\| fail \| (\d+\.\d+) / [^|]* s \|`},
		" s** on top, at worst %s | browsers behind":                              {"docs/scale.md", `(?m)^\| many fail: the slowest is acted on after \|[^|]*\| (\d+\.\d+ s) \|`},
		"The first run of the demo compiles Kubernetes itself: %s on 2 cores":     {"docs/demo.md", `(?m)^The first run takes \*\*(.*)\*\* on 2 cores`},
	} {
		t.Run(claim, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(read(g, "README.md")).To(ContainSubstring(strings.Replace(claim, "%s", source.figure(g), 1)), "what %s has", source.page)
		})
	}
}

func TestTheReadmeSaysOfTheDemoWhatItShows(t *testing.T) {
	g := NewWithT(t)
	total := measured{"docs/demo.md", `Without an answer in all: 0\.00 s \(0 of (\d+) requests\)`}.figure(g)
	g.Expect(strings.ReplaceAll(read(g, "README.md"), ",", "")).To(ContainSubstring(total + " requests twice scaled to zero all answered"))
}

func TestTheReadmeNamesWhatIsTested(t *testing.T) {
	g := NewWithT(t)
	for row, names := range map[string]string{"kube-proxy": `kube-proxy, mode ([a-z]+)`, "Ingress controllers": `(Traefik [\d.]+|HAProxy Ingress [\d.]+)`} {
		tested := measured{"README.md", `(?m)^\| ` + row + ` \| ([^|]*) \|`}.figure(g)
		var known []string
		for _, match := range regexp.MustCompile(`(?m)^\| `+names+`.*\*\*tested here\*\* \|$`).FindAllStringSubmatch(read(g, "docs/consumers.md"), -1) {
			known = append(known, match[1])
		}
		g.Expect(known).NotTo(BeEmpty(), row)
		for name := range strings.SplitSeq(tested, ", ") {
			g.Expect(known).To(ContainElement(name), "docs/consumers.md has no test of %s", name)
		}
	}
}

func TestTheAlternativesAreExplained(t *testing.T) {
	g := NewWithT(t)
	_, table, _ := strings.Cut(read(g, "README.md"), "## Alternatives")
	table, _, _ = strings.Cut(table, "\n## ")
	rows := regexp.MustCompile(`(?m)^\| [A-Za-z].*\|$`).FindAllString(table, -1)
	explained := read(g, "docs/alternatives.md")
	g.Expect(rows).To(HaveLen(8))
	g.Expect(regexp.MustCompile(`\*\*Use (it|them) instead if\*\*`).FindAllString(explained, -1)).To(HaveLen(len(rows)))
	for _, row := range rows {
		name := regexp.MustCompile(`\w[\w-]*`).FindString(row)
		g.Expect(explained).To(MatchRegexp(`(?m)^## .*`+name), "docs/alternatives.md has no chapter about %s", name)
	}
}

func TestTheIndexNamesEveryPage(t *testing.T) {
	g := NewWithT(t)
	index := read(g, "docs/README.md")
	for name := range texts(g, ".md") {
		folder := path.Dir(strings.TrimPrefix(name, "docs/"))
		if !strings.HasPrefix(name, "docs/") || name == "docs/README.md" {
			continue
		}
		// Runbooks and decisions have an index of their own.
		if (folder == "runbooks" || folder == "decisions") && path.Base(name) != "README.md" {
			g.Expect(read(g, path.Join("docs", folder, "README.md"))).To(ContainSubstring("("+path.Base(name)+")"), "docs/%s/README.md", folder)
			continue
		}
		g.Expect(index).To(ContainSubstring("("+strings.TrimPrefix(name, "docs/")+")"), "docs/README.md does not name it")
	}
}

func TestTheReadmeHasCommandsThatAreOne(t *testing.T) {
	g := NewWithT(t)
	makefile := read(g, "Makefile") + read(g, "hack/project.mk")
	found := regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(read(g, "README.md"), -1)
	g.Expect(len(found)).To(BeNumerically(">", 1))
	for _, block := range found {
		run(t, "bash", "-n", "-c", block[1])
		for _, target := range regexp.MustCompile(`(?m)^make ([a-z -]+)`).FindAllStringSubmatch(block[1], -1) {
			for name := range strings.FieldsSeq(target[1]) {
				g.Expect(makefile).To(MatchRegexp(`(?m)^`+name+`:`), "there is no target %s", name)
			}
		}
	}
}
