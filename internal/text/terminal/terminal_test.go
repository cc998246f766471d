package terminal

import (
	"testing"

	. "github.com/onsi/gomega"
)

func TestATextCannotCommandATerminal(t *testing.T) {
	g := NewWithT(t)
	g.Expect(OneLine("ends\n\twith \x1b[2Jcode\u009b1 \u00e9\u2026")).To(Equal("ends with ?[2Jcode?1 \u00e9\u2026"))
	g.Expect(OneLine("\u202ethgir ot tfel\u202c \u2066isolated\u2069 in\u200bvisible \U000e0041tag \ue000private \xff")).
		To(Equal("?thgir ot tfel? ?isolated? in?visible ?tag ?private \ufffd"))
	g.Expect(Lines("first\n\n\tsecond\rerror: \x1b[31m\nthird\n")).To(Equal("first\n  second error: ?[31m\n  third"))
	g.Expect(Lines("one line")).To(Equal("one line"))
}
