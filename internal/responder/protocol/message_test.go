package protocol

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestSentence(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"a sentence stays as it is":              {"Back at nine — “sorry” 🙂", "Back at nine — “sorry” 🙂"},
		"nothing is replaced by the default":     {" \n ", defaultMessage},
		"lines become one":                       {"Closed.\r\nBack at nine.\n", "Closed. Back at nine."},
		"a NUL does not end it":                  {"Closed.\x00Back at nine.", "Closed. Back at nine."},
		"an escape of a terminal is disarmed":    {"\x1b[2JClosed.\u009b", "[2JClosed."},
		"what is not UTF-8 is dropped":           {"Closed\xff\xfe.", "Closed ."},
		"a line separator of Unicode is a space": {"Closed.\u2028Back.", "Closed. Back."},
		"a long one is cut at a letter":          {strings.Repeat("ä", 1000), strings.Repeat("ä", 198) + "…"},
		"an endless one is cut early":            {strings.Repeat(" ", 1<<20) + "x", defaultMessage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(sentence(test.text)).To(Equal(test.want))
			g.Expect(len(sentence(test.text))).To(BeNumerically("<=", messageLimit))
		})
	}
}
