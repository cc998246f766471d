package document

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheTableIsPutBetweenItsMarks(t *testing.T) {
	const (
		beginMark = "<!-- bench: begin -->\n"
		endMark   = "<!-- bench: end -->\n"
	)
	tests := map[string]struct{ before, after, problem string }{
		"what was there is replaced, and all else stays": {
			before: "# Failover\n" + beginMark + "old\n" + endMark + "The end.\n",
			after:  "# Failover\n" + beginMark + "\nnew\n\n" + endMark + "The end.\n",
		},
		"another block stays": {
			before: "<!-- other: begin -->\nold\n<!-- other: end -->\n" + beginMark + endMark,
			after:  "<!-- other: begin -->\nold\n<!-- other: end -->\n" + beginMark + "\nnew\n\n" + endMark,
		},
		"a document without a place for it is an error": {before: "# Failover\n", problem: "has no place"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			document := filepath.Join(t.TempDir(), "failover.md")
			g.Expect(os.WriteFile(document, []byte(test.before), 0o600)).To(Succeed())
			err := Publish(document, "bench", "new\n")
			if test.problem != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			content, err := os.ReadFile(document)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(content)).To(Equal(test.after))
		})
	}
}
