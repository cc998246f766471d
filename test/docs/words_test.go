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

const glossary = "docs/glossary.md"

// unguarded are files whose words are not ours, or are generated from ours.
var unguarded = []string{
	".git", "bin", "dist",
	"bundle/manifests", "catalog/critical-service-operator", "config/crd/bases", "config/rbac/role.yaml", "docs/reference",
	"config/chart/critical-service-operator/templates/generated",
	"internal/diagnosis/testdata", // What a cluster says.
	glossary, "test/docs/words_test.go",
}

// guarded are the kinds of files that people read.
var guarded = []string{".go", ".sh", ".yaml", ".yml", ".md", ".html", ".svg", ".ci/run", "Makefile", ".mk", "Dockerfile", ".tpl"}

// unwanted is a word that the glossary replaces.
type unwanted struct {
	word, instead string
	// begins is what it begins with: most texts have no such thing, and then need not be matched.
	begins  string
	pattern *regexp.Regexp
}

// unwantedWords are the rows of a table of the glossary, by its heading.
func unwantedWords(g Gomega, heading string) []unwanted {
	_, table, _ := strings.Cut(read(g, glossary), heading+"\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var words []unwanted
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z *]+)` \\| (.+) \\|$").FindAllStringSubmatch(table, -1) {
		// A phrase may go on in the next line of a comment.
		expression := strings.NewReplacer("*", `\w*`, " ", `[\s/#*]+`).Replace(row[1])
		begins, _, _ := strings.Cut(strings.ReplaceAll(row[1], "*", " "), " ")
		words = append(words, unwanted{row[1], row[2], begins, regexp.MustCompile(`(?i)\b` + expression + `\b`)})
	}
	g.Expect(len(words)).To(BeNumerically(">", 5))
	return words
}

// Between these the words of an identifier end.
var (
	lowerToUpper = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	upperToWord  = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
)

// inWords separates the words of identifiers.
func inWords(text string) string {
	text = upperToWord.ReplaceAllString(lowerToUpper.ReplaceAllString(text, "$1 $2"), "$1 $2")
	return strings.ReplaceAll(text, "_", " ")
}

func TestTheWordsAreThoseOfTheGlossary(t *testing.T) {
	g := NewWithT(t)
	words := unwantedWords(g, "## Words we do not use")
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && slices.Contains(unguarded, name) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil || !entry.Type().IsRegular() || !slices.ContainsFunc(guarded, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return err
		}
		// The name of the file stands in its first line, so to speak.
		text := inWords(path.Base(name) + " " + read(g, name))
		lower := strings.ToLower(text)
		for _, unwanted := range words {
			if !strings.Contains(lower, unwanted.begins) {
				continue
			}
			for _, at := range unwanted.pattern.FindAllStringIndex(text, -1) {
				t.Errorf("%s:%d: %q; say %s (%s)", filepath.FromSlash(name), 1+strings.Count(text[:at[0]], "\n"), text[at[0]:at[1]], unwanted.instead, glossary)
			}
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
}

// A guard that finds nothing may have lost its list.
func TestUnwantedWordsAreFound(t *testing.T) {
	g := NewWithT(t)
	words := unwantedWords(g, "## Words we do not use")
	found := func(text string) (found []string) {
		for _, unwanted := range words {
			if unwanted.pattern.MatchString(inWords(text)) {
				found = append(found, unwanted.word)
			}
		}
		return found
	}
	g.Expect(found("// Nobody is asked.")).To(Equal([]string{"nobody"}))
	g.Expect(found("func TestTheValidationHindersNobody()")).To(Equal([]string{"nobody", "hinder*"}))
	g.Expect(found("rehearsal_pending, DryRun")).To(Equal([]string{"rehears*"}))
	g.Expect(found("// it tells\n\t// whether a Pod runs")).To(Equal([]string{"tells whether"}))
	g.Expect(found("func TestANewPodIsReady()")).To(BeEmpty())
	g.Expect(found("We recommend to amend what unfolds and is retold.")).To(BeEmpty())
}
