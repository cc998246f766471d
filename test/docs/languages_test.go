package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"
)

func TestTheLanguagesOfThePageAreNamed(t *testing.T) {
	g := NewWithT(t)
	entries, err := os.ReadDir(filepath.Join(root, "internal/responder/web/translation/languages"))
	g.Expect(err).NotTo(HaveOccurred())
	var spoken []string
	for _, entry := range entries {
		base, _ := language.MustParse(strings.TrimSuffix(entry.Name(), ".json")).Base()
		spoken = append(spoken, display.English.Languages().Name(base))
	}
	g.Expect(len(spoken)).To(BeNumerically(">", 10))

	list := measured{"docs/responder.md", "of `Accept-Language`: ([^;]*); else English"}.figure(g)
	list = strings.ReplaceAll(list, "Chinese (simplified and traditional)", "Chinese, Chinese")
	g.Expect(regexp.MustCompile(`, | and `).Split(list, -1)).To(ConsistOf(spoken))
	g.Expect(read(g, "README.md")).To(ContainSubstring(fmt.Sprintf("\nIn %d [languages](docs/responder.md#languages).\n", len(spoken))))
}
