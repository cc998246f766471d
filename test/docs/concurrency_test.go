package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var (
	packageAndTests = regexp.MustCompile("`([a-z0-9/]+)`: ((?:`Test\\w+`(?:, )?)+)")
	testName        = regexp.MustCompile("`(Test\\w+)`")
)

// missingTests are those that a cell of the table names and that do not exist.
func missingTests(g Gomega, cell string) []string {
	var missing []string
	named := packageAndTests.FindAllStringSubmatch(cell, -1)
	g.Expect(named).NotTo(BeEmpty(), "no package with a test: %s", cell)
	for _, of := range named {
		files, err := filepath.Glob(filepath.Join(root, of[1], "*_test.go"))
		g.Expect(err).NotTo(HaveOccurred())
		var text strings.Builder
		for _, file := range files {
			text.WriteString(read(g, strings.TrimPrefix(file, root+"/")))
		}
		for _, test := range testName.FindAllStringSubmatch(of[2], -1) {
			if !strings.Contains(text.String(), "\nfunc "+test[1]+"(t *testing.T)") {
				missing = append(missing, of[1]+" "+test[1])
			}
		}
	}
	return missing
}

const concurrencyPage = "docs/maintainers/concurrency.md"

// Each rule about several writers at once, and each law, has a home and a test.
func TestEveryRuleOfConcurrencyHasATest(t *testing.T) {
	g := NewWithT(t)
	rules := ""
	for _, row := range regexp.MustCompile(`(?m)^\| (.+) \| (.+) \| (.+) \|$`).FindAllStringSubmatch(read(g, concurrencyPage), -1) {
		if row[3] == "Tests" {
			continue // The head of a table.
		}
		rules += row[1] + "\n"
		g.Expect(missingTests(g, row[3])).To(BeEmpty(), row[1])
	}
	for _, subject := range []string{"leader election", "Optimistic locking", "409", "idempotent", "Rates", "finalizer", "leader fails"} {
		g.Expect(rules).To(ContainSubstring(subject))
	}
}

func TestEveryLawOfTheWorkloadsIsOnThePage(t *testing.T) {
	g := NewWithT(t)
	page := read(g, concurrencyPage)
	for _, kind := range []string{"database", "webapp", "appconfig"} {
		folder := "workloads/controllers/" + kind + "/internal/decide"
		laws := regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(read(g, folder+"/laws_test.go"), -1)
		g.Expect(laws).NotTo(BeEmpty(), folder)
		for _, law := range laws {
			g.Expect(page).To(ContainSubstring("`"+law[1]+"`"), "%s has no row for a law of %s", concurrencyPage, folder)
		}
	}
}

func TestATestThatIsMissingIsFound(t *testing.T) {
	g := NewWithT(t)
	g.Expect(missingTests(g, "`test/docs`: `TestATestThatIsMissingIsFound`, `TestWhatIsNowhere`; `test/nowhere`: `TestX`")).
		To(Equal([]string{"test/docs TestWhatIsNowhere", "test/nowhere TestX"}))
}
