package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const (
	module = "github.com/critical-service/operator"
	list   = "hack/retries.txt"
)

// The list of the repository names tests that exist, and none for longer than it may.
func TestTheListOfRetriesHolds(t *testing.T) {
	g := NewWithT(t)
	text, err := os.ReadFile(filepath.Join("../..", list))
	g.Expect(err).NotTo(HaveOccurred())
	entries, err := parse(string(text))
	g.Expect(err).NotTo(HaveOccurred(), list)
	for _, e := range entries {
		if e.isExpired(time.Now()) {
			t.Errorf("%s: %s may be retried since %s, which is over: fix it, or remove it from the list", list, e.test, e.since.Format(time.DateOnly))
		}
		folder, isOurs := strings.CutPrefix(e.pkg, module)
		g.Expect(isOurs).To(BeTrue(), e.pkg)
		files, err := filepath.Glob(filepath.Join("../..", folder, "*_test.go"))
		g.Expect(err).NotTo(HaveOccurred())
		var tests strings.Builder
		for _, file := range files {
			code, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			tests.Write(code)
		}
		g.Expect(tests.String()).To(ContainSubstring("\nfunc "+e.test+"("), "%s: %s has no such test", list, e.pkg)
	}
}

func TestAnEntryExpires(t *testing.T) {
	g := NewWithT(t)
	entries, err := parse("# comment\n\np TestA 2026-11-01 issue 17\np TestB 2026-10-01 issue 17\np TestC 2026-11-26 issue 17\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(entries).To(HaveLen(3))
	g.Expect(entries[0].why).To(Equal("issue 17"))
	var over []string
	for _, e := range entries {
		if e.isExpired(time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)) {
			over = append(over, e.test)
		}
	}
	g.Expect(over).To(Equal([]string{"TestB", "TestC"}), "too old, and of a day to come")
}

func TestAnEntryIsWhole(t *testing.T) {
	for sentence, line := range map[string]string{
		"without a reason":     "p TestA 2026-11-01",
		"without an issue":     "p TestA 2026-11-01 slow machine",
		"without a date":       "p TestA issue 17",
		"with half a date":     "p TestA 2026-11 issue 17",
		"with a pattern alone": "TestA",
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := parse(line)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring("line 1")))
		})
	}
}

// head is how a report begins.
const head = `<testsuites><testsuite name="p"><testcase classname="p" name="TestGood"></testcase>`

// testcase is a test in it that failed.
func testcase(pkg, test, log string) string {
	return `<testcase classname="` + pkg + `" name="` + test + `"><failure message="Failed" type="">=== RUN   ` + test + `&#xA;` + log + `</failure></testcase>`
}

func TestOnlyWhatIsListedIsRetried(t *testing.T) {
	for sentence, c := range map[string]struct{ cases, prints, refuses string }{
		"a test that is listed":                 {testcase("p", "TestA", ""), "p\n^(TestA)$\n", ""},
		"a subtest by its test":                 {testcase("p", "TestA", "") + testcase("p", "TestA/x_y", ""), "p\n^(TestA)$\n", ""},
		"several":                               {testcase("q", "TestB", "") + testcase("p", "TestA", ""), "p q\n^(TestA|TestB)$\n", ""},
		"not with one that is not listed":       {testcase("p", "TestA", "") + testcase("p", "TestC", ""), "", "p TestC is not in "},
		"not one of that name in other package": {testcase("q", "TestA", ""), "", "q TestA is not in "},
		"not a package that does not compile":   {testcase("", "TestMain", "FAIL"), "", "p TestMain is not in "},
		"not one that was listed too long ago":  {testcase("p", "TestOld", ""), "", "p TestOld is not in "},
		"not one that crashed":                  {testcase("p", "TestA", "panic: nil map"), "", "p TestA crashed"},
		"not one with a data race":              {testcase("p", "TestA", "x&#xA;WARNING: DATA RACE"), "", "p TestA crashed"},
		"not when no test failed":               {"", "", "no test failed"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			folder := t.TempDir()
			entries, report := filepath.Join(folder, "list"), filepath.Join(folder, "report.xml")
			g.Expect(os.WriteFile(entries, []byte(strings.ReplaceAll("p TestA TODAY issue 17\nq TestB TODAY issue 17\np TestOld 2025-11-01 issue 17\n",
				"TODAY", time.Now().UTC().Format(time.DateOnly))), 0o600)).To(Succeed())
			g.Expect(os.WriteFile(report, []byte(head+c.cases+"</testsuite></testsuites>"), 0o600)).To(Succeed())
			var printed strings.Builder
			err := run(&printed, []string{"retry", entries, report})
			g.Expect(printed.String()).To(Equal(c.prints))
			if c.refuses == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(ContainSubstring(c.refuses)))
			}
		})
	}
}

func TestABrokenReportHidesNoOther(t *testing.T) {
	g := NewWithT(t)
	folder := t.TempDir()
	good, broken := filepath.Join(folder, "good.xml"), filepath.Join(folder, "broken.xml")
	g.Expect(os.WriteFile(good, []byte(head+testcase("p", "TestA", "it is 3")+"</testsuite></testsuites>"), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(broken, []byte(head), 0o600)).To(Succeed())
	var printed strings.Builder
	g.Expect(run(&printed, []string{"show", broken, good})).To(MatchError(ContainSubstring("broken.xml")))
	g.Expect(printed.String()).To(Equal("---- p TestA (whole in " + good + ")\nit is 3\n---- in a line each:\np TestA: it is 3\n"))
}
