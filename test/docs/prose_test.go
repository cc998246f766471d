package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const (
	// mostWordsOfASentence bounds a sentence of the documents. Longer ones are read twice.
	mostWordsOfASentence = 35
	// mostWordsOfAPage bounds the prose of a page, without tables and code. A page that
	// needs more says things twice, or is two pages.
	mostWordsOfAPage = 2500
	// mostWordsOfAll bounds the prose of docs/ and of the pages at the root together. A new
	// subject may raise it by its pages; what exists should rather become shorter.
	mostWordsOfAll = 42100
	// changelog grows with every release, so that its length has no bound.
	changelog = "CHANGELOG.md"
)

// documents are all pages but generated ones and the glossary, which lists the words that it rejects.
func documents(g Gomega) map[string]string {
	pages := map[string]string{}
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && slices.Contains(unguarded, name) {
			return fs.SkipDir
		}
		if err == nil && filepath.Ext(name) == ".md" && name != glossary {
			pages[filepath.ToSlash(name)] = read(g, name)
		}
		return err
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(pages)).To(BeNumerically(">", 80))
	return pages
}

var (
	// notProse begins a line that is a heading, a row of a table, a quotation or a comment.
	notProse    = regexp.MustCompile(`^(#|\||>|<!--)`)
	listItem    = regexp.MustCompile(`^([*-]|\d+\.) +`)
	inlineCode  = regexp.MustCompile("``.+?``|`[^`]+`")
	inlineLink  = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	sentenceEnd = regexp.MustCompile(`[.!?][")*]*\s+`)
	oneWord     = regexp.MustCompile(`\S*\w\S*`)
)

// prose are the paragraphs and the items of a page, with a word in the place of code and the text of links.
func prose(page string) []string {
	var paragraphs []string
	for line := range strings.Lines(fence.ReplaceAllString(page, "")) {
		line = strings.TrimSpace(line)
		if line == "" || notProse.MatchString(line) {
			continue
		}
		line = inlineCode.ReplaceAllString(listItem.ReplaceAllString(line, ""), "code")
		paragraphs = append(paragraphs, inlineLink.ReplaceAllString(line, "$1"))
	}
	return paragraphs
}

// longSentences are those with more words than a sentence may have.
func longSentences(page string) []string {
	var long []string
	for _, paragraph := range prose(page) {
		for _, sentence := range sentenceEnd.Split(paragraph, -1) {
			if len(oneWord.FindAllString(sentence, -1)) > mostWordsOfASentence {
				long = append(long, sentence)
			}
		}
	}
	return long
}

// wordsOf is the number of words in the prose of a page.
func wordsOf(page string) int {
	count := 0
	for _, paragraph := range prose(page) {
		count += len(oneWord.FindAllString(paragraph, -1))
	}
	return count
}

func TestSentencesAreShort(t *testing.T) {
	for name, page := range documents(NewWithT(t)) {
		for _, sentence := range longSentences(page) {
			t.Errorf("%s: a sentence has more than %d words: make it two, or a list: %s", name, mostWordsOfASentence, sentence)
		}
	}
}

func TestPagesAreShort(t *testing.T) {
	for name, page := range documents(NewWithT(t)) {
		if count := wordsOf(page); count > mostWordsOfAPage && name != changelog {
			t.Errorf("%s has %d words of prose, more than %d: say each thing once and link, or make it two pages", name, count, mostWordsOfAPage)
		}
	}
}

func TestTheDocumentsTogetherAreShort(t *testing.T) {
	count := 0
	for name, page := range documents(NewWithT(t)) {
		if folder, _, isBelow := strings.Cut(name, "/"); (folder == "docs" || !isBelow) && name != changelog {
			count += wordsOf(page)
		}
	}
	if count > mostWordsOfAll {
		t.Errorf("all documents have %d words of prose, and may have %d: say each thing once and link", count, mostWordsOfAll)
	}
}

func TestDocumentsUseTheTermsOfTheGlossary(t *testing.T) {
	g := NewWithT(t)
	words := unwantedWords(g, "## Words that documents do not use")
	for name, page := range documents(g) {
		for _, paragraph := range prose(page) {
			for _, unwanted := range words {
				if found := unwanted.pattern.FindString(paragraph); found != "" {
					t.Errorf("%s: %q; say %s (%s): %s", name, found, unwanted.instead, glossary, paragraph)
				}
			}
		}
	}
}

// A guard that finds nothing may look at nothing.
func TestLongSentencesAreFound(t *testing.T) {
	g := NewWithT(t)
	long := "Where another thing is `much longer than it seems`, " + strings.Repeat("and goes on, ", 12) + "it is a long one."
	short := "Where another thing is short, it is [a short one](of/a/link.md) and `some code that is one word`."
	g.Expect(longSentences(short + " " + long + "\n")).To(HaveLen(1))
	g.Expect(longSentences("* " + long + "\n\n1. " + short + " " + short)).To(HaveLen(1))
	g.Expect(longSentences("| " + long + " |\n> " + long + "\n# " + long + "\n```sh\n" + long + "\n```\n")).To(BeEmpty())
	g.Expect(longSentences(strings.ReplaceAll(long, "and goes on,", "It ends."))).To(BeEmpty())
	g.Expect(wordsOf("* One `two three` [four](five.md) - six.\n\n| seven |\n")).To(Equal(4))
}
