package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const root = "../.."

func TestThePictureIsWhatThePluginPrints(t *testing.T) {
	g := NewWithT(t)
	picture, err := render(os.DirFS(root))
	g.Expect(err).NotTo(HaveOccurred())
	committed, err := os.ReadFile(filepath.Join(root, "docs/images/plugin.svg"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(committed)).To(Equal(picture), "run 'make pictures' and commit the result")

	shown := letters(wordsOf(g, picture))
	for _, step := range session {
		printed, err := os.ReadFile(filepath.Join(root, plugin, step.printed))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(shown).To(ContainSubstring(letters(step.command)))
		plain := escape.ReplaceAllString(string(printed), "")
		if step.until != "" {
			plain, _, _ = strings.Cut(plain, "\n"+step.until+"\n")
			plain += "…"
		}
		g.Expect(shown).To(ContainSubstring(letters(plain)), step.printed)
	}
	for _, class := range []string{"ok", "warn", "bad"} {
		g.Expect(picture).To(ContainSubstring(`<text class="`+class+`"`), "the picture has the plugin's colours")
	}
}

// letters are a text without its blanks and line breaks.
func letters(text string) string { return strings.Join(strings.Fields(text), "") }

// wordsOf are the texts of a picture in their order.
func wordsOf(g Gomega, picture string) string {
	decoder, inText := xml.NewDecoder(strings.NewReader(picture)), false
	var found []string
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return strings.Join(found, " ")
		}
		g.Expect(err).NotTo(HaveOccurred())
		switch token := token.(type) {
		case xml.StartElement:
			inText = token.Name.Local == "text"
		case xml.EndElement:
			inText = false
		case xml.CharData:
			if inText {
				found = append(found, strings.Fields(string(token))...)
			}
		}
	}
}

func TestColumnsAndColoursAreKept(t *testing.T) {
	for sentence, test := range map[string]struct {
		text string
		want []line
	}{
		"words stand in their columns": {"NAME   A B\n", []line{{{0, "NAME", "text"}, {7, "A B", "text"}}}},
		"an escape sequence takes no column, and its colour ends with it": {
			"a \x1b[31mdown\x1b[0m b", []line{{{0, "a", "text"}, {2, "down", "bad"}, {7, "b", "text"}}},
		},
		"an empty line is one":         {"a\n\nb\n", []line{{{0, "a", "text"}}, nil, {{0, "b", "text"}}}},
		"a letter of two bytes is one": {"é  b", []line{{{0, "é", "text"}, {3, "b", "text"}}}},
		"a line that is longer than the terminal goes on in the next one, between words": {
			strings.Repeat("a", columns-3) + " to be  e",
			[]line{{{0, strings.Repeat("a", columns-3) + " to", "text"}}, {{0, "be", "text"}, {4, "e", "text"}}},
		},
		"a word that has room in the next line only stands there": {
			strings.Repeat("a", columns-6) + "  more  \x1b[31mand more\x1b[0m",
			[]line{{{0, strings.Repeat("a", columns-6), "text"}, {columns - 4, "more", "text"}}, {{0, "and more", "bad"}}},
		},
		"a word that is longer than the terminal is broken": {
			strings.Repeat("a", columns-1) + "bcd  e",
			[]line{{{0, strings.Repeat("a", columns-1) + "b", "text"}}, {{0, "cd", "text"}, {4, "e", "text"}}},
		},
		"a colour goes on over the break": {"\x1b[33ma\nb\x1b[0m", []line{{{0, "a", "warn"}}, {{0, "b", "warn"}}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			lines, err := parse(test.text)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(lines).To(Equal(test.want))
		})
	}
}

func TestAColourThatThePictureLacksIsAnError(t *testing.T) {
	_, err := parse("\x1b[35mpurple\x1b[0m")
	NewWithT(t).Expect(err).To(MatchError(MatchRegexp(regexp.QuoteMeta(`\x1b[35m`))))
}

func TestALineToEndBeforeThatIsNotPrintedIsAnError(t *testing.T) {
	_, err := begin("Fallback: page\n\nPorts:\n", "Endpoints:")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("Endpoints:")))
}

func TestMarkupIsText(t *testing.T) {
	g := NewWithT(t)
	picture := draw("a <title>", "b & c", []line{{{0, "svc/<name>", "text"}}})
	g.Expect(wordsOf(g, picture)).To(Equal("svc/<name>"))
}
