package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

const reliabilityPage = "docs/reliability.md"

// sumOf adds up the figures that a pattern finds, the groups of which are numbers.
func sumOf(g Gomega, text, pattern string) []int {
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1)
	g.Expect(found).NotTo(BeEmpty(), "nothing is like %s", pattern)
	sum := make([]int, len(found[0])-1)
	for _, row := range found {
		for i, figure := range row[1:] {
			number, err := strconv.Atoi(strings.ReplaceAll(figure, ",", ""))
			g.Expect(err).NotTo(HaveOccurred(), row[0])
			sum[i] += number
		}
	}
	return sum
}

// The first row sums up the others.
func TestTheFiguresOfReliabilityAddUp(t *testing.T) {
	g := NewWithT(t)
	page := read(g, reliabilityPage)
	for claim, rows := range map[string]string{
		`([\d,]+) faults of operators in stories, ([\d,]+) of them crashes;`: `\| ([\d,]+)(?: of [\d,]+)? faults, ([\d,]+) of them crashes`,
		`([\d,]+) stories in other views, with ([\d,]+) crashes;`:            `\| ([\d,]+) stories with ([\d,]+) crashes:`,
		`; ([\d,]+) generated objects, ([\d,]+) of them accepted;`:           `\| ([\d,]+) from seed 20261130: ([\d,]+) accepted`,
		`; (\d+) seeded bugs;`: `\| (\d+) of \d+ are caught`,
	} {
		g.Expect(sumOf(g, page, claim)).To(Equal(sumOf(g, page, rows)), "the rows of %s have another sum", rows)
	}
}

// Each row has the command that makes it, and each failure the test that holds its fix.
func TestWhatReliabilityNamesExists(t *testing.T) {
	g := NewWithT(t)
	page := read(g, reliabilityPage)
	makefile := read(g, "Makefile")
	targets := regexp.MustCompile("`make ([a-z0-9-]+)").FindAllStringSubmatch(page, -1)
	g.Expect(targets).NotTo(BeEmpty())
	for _, target := range targets {
		g.Expect(strings.Contains(makefile, "\n"+target[1]+":")).To(BeTrue(), "%s names make %s, which does not exist", reliabilityPage, target[1])
	}
	for head, names := range map[string]string{
		"| What | Figures | Date | Command |\n":                     "(?:`make [a-z0-9-]+.*`|`\\.ci/run.*`|those below)",
		"| What failed | What happens now | Test that holds it |\n": "`Test\\w+`",
	} {
		_, rest, _ := strings.Cut(page, head)
		table, _, _ := strings.Cut(rest, "\n\n")
		rows := strings.Split(table, "\n")[1:]
		g.Expect(len(rows)).To(BeNumerically(">", 10))
		for _, row := range rows {
			g.Expect(row).To(MatchRegexp(`\| ` + names + `[^|]* \|$`))
		}
	}
	tests := testsOfTheRepository(g)
	named := testName.FindAllStringSubmatch(page, -1)
	g.Expect(named).NotTo(BeEmpty())
	for _, name := range named {
		g.Expect(tests[name[1]]).To(BeTrue(), "%s names %s, which does not exist", reliabilityPage, name[1])
	}
}

// testsOfTheRepository are the names of the tests of both projects.
func testsOfTheRepository(g Gomega) map[string]bool {
	tests, declared := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	g.Expect(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "bin" || entry.Name() == ".git"):
			return filepath.SkipDir
		case strings.HasSuffix(path, "_test.go"):
			for _, test := range declared.FindAllStringSubmatch(read(g, strings.TrimPrefix(path, root+"/")), -1) {
				tests[test[1]] = true
			}
		}
		return nil
	})).To(Succeed())
	return tests
}
