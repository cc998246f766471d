package document

import (
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestABlockIsFoundByItsSectionAndWords(t *testing.T) {
	const page = "# Guide\n\n## Use it\n\n```sh\nkubectl get pods\n```\n\n```yaml\nkind: Pod\n```\n\n" +
		"## Remove it\n\n1. Look:\n\n   ```sh\n   kubectl get pods |\n     wc -l\n\n   true\n   ```\n\n2. Delete:\n\n   ```sh\n   kubectl delete pods\n   ```\n"
	tests := map[string]struct{ section, language, words, block, problem string }{
		"the one with the words":           {section: "Remove it", language: "sh", words: "delete", block: "kubectl delete pods\n"},
		"one of the same words elsewhere":  {section: "Use it", language: "sh", words: "get pods", block: "kubectl get pods\n"},
		"one of another language":          {section: "Use it", language: "yaml", words: "", block: "kind: Pod\n"},
		"one of a list, not indented":      {section: "Remove it", language: "sh", words: "wc", block: "kubectl get pods |\n  wc -l\n\ntrue\n"},
		"several are an error":             {section: "Remove it", language: "sh", words: "kubectl", problem: `has 2 blocks of sh with "kubectl", and should have one`},
		"a missing section is an error":    {section: "Upgrade", language: "sh", words: "kubectl", problem: `section "Upgrade" of `},
		"words of the text are not enough": {section: "Remove it", language: "sh", words: "Delete:", problem: "has 0 blocks"},
	}
	file := filepath.Join(t.TempDir(), "guide.md")
	NewWithT(t).Expect(os.WriteFile(file, []byte(page), 0o600)).To(Succeed())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			block, err := Block(file, test.section, test.language, test.words)
			if test.problem != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.problem)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(block).To(Equal(test.block))
		})
	}
}
