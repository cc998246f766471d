package text_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/text"
)

func TestShorten(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"a short text stays":                 {"down", 4, "down"},
		"a long one ends in an ellipsis":     {"it is down", 8, "it is…"},
		"no character is cut in two":         {"ääää", 6, "ä…"},
		"nothing dangles before the missing": {"it is down, because", 14, "it is down…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			got := text.Shorten(test.text, test.limit)
			g.Expect(got).To(Equal(test.want))
			g.Expect(len(got)).To(BeNumerically("<=", test.limit))
		})
	}
}

func TestShortenKeepsTheBoundOfEveryText(t *testing.T) {
	g := NewWithT(t)
	for _, char := range []string{"a", "ä", "…", "😀"} {
		long := strings.Repeat(char, 400)
		for limit := 3; limit <= 400; limit++ {
			got := text.Shorten(long, limit)
			g.Expect(len(got)).To(BeNumerically("<=", limit))
			g.Expect(utf8.ValidString(got)).To(BeTrue())
		}
	}
}
