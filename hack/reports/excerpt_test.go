package main

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// noise are lines that a program under test prints.
func noise(count int) []string {
	var printed []string
	for i := range count {
		printed = append(printed, fmt.Sprintf("{\"level\":\"info\",\"line\":%d}", i))
	}
	return printed
}

func TestAnExcerptHasTheReasonAndTheEnd(t *testing.T) {
	for sentence, c := range map[string]struct {
		before, reason []string
		after          int
		has            []string
	}{
		"a short log is shown whole": {
			noise(2), []string{"    x_test.go:7: ", "        Expected"}, 1,
			append(noise(2), "    x_test.go:7: ", "        Expected", noise(1)[0]),
		},
		"what Gomega prints, before what the clean-up does": {
			noise(99), []string{"    x_test.go:7: ", "        Expected"}, 99,
			[]string{"... 99 lines ...", "    x_test.go:7: ", "        Expected", noise(99)[98]},
		},
		"a crash, before its stack": {
			append(noise(50), "    x_test.go:7: ", "        Expected"), []string{"panic: nil map"}, 99,
			[]string{"panic: nil map", noise(99)[98]},
		},
		"the last that the test itself said": {
			append(noise(50), "    x_test.go:3: begun"), append([]string{"    x_test.go:7: it is 3"}, noise(40)...), 99,
			[]string{"    x_test.go:7: it is 3"},
		},
		"without any, the beginning and the end": {noise(9), nil, 90, []string{noise(9)[0], noise(90)[89]}},
		"a reason at the end is shown once": {
			noise(99), []string{"    x_test.go:7: ", "        Expected"}, 0,
			[]string{"    x_test.go:7: ", "        Expected"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			log := append(append(append([]string{}, c.before...), c.reason...), noise(c.after)...)
			shown := excerpt(log, 20)
			g.Expect(shown).To(ContainElements(c.has))
			g.Expect(len(shown)).To(BeNumerically("<=", 22))
			if len(c.reason) > 0 {
				g.Expect(strings.Count(strings.Join(shown, "\n"), c.reason[0])).To(Equal(1))
			}
		})
	}
}

func TestWhatIsShownIsBounded(t *testing.T) {
	g := NewWithT(t)
	var failures []failure
	for i := range 50 {
		failures = append(failures, failure{pkg: "p", test: fmt.Sprint("Test", i), log: append(noise(500), strings.Repeat("x", 9999))})
	}
	var shown strings.Builder
	show(&shown, failures)
	g.Expect(strings.Count(shown.String(), "\n")).To(BeNumerically("<", 2*allLines))
	g.Expect(shown.String()).To(ContainSubstring("---- p Test0 "))
	g.Expect(shown.String()).To(MatchRegexp(`---- and \d+ more: see the reports\n---- in a line each:\n(p Test.*\n){10}$`))
	for line := range strings.Lines(shown.String()) {
		g.Expect(len(line)).To(BeNumerically("<", 2*width))
	}
}

func TestATestIsNotShownForItsSubtest(t *testing.T) {
	g := NewWithT(t)
	var shown strings.Builder
	show(&shown, []failure{
		{pkg: "p", test: "TestA", log: []string{"--- FAIL: TestA (0.00s)"}, report: "r.xml"},
		{pkg: "p", test: "TestA/x", log: []string{"reason", "--- FAIL: TestA/x (0.00s)"}, report: "r.xml"},
		{pkg: "q", test: "TestA", log: []string{"--- FAIL: TestA (0.00s)"}, report: "r.xml"},
	})
	g.Expect(shown.String()).To(Equal("---- p TestA/x (whole in r.xml)\nreason\n--- FAIL: TestA/x (0.00s)\n" +
		"---- q TestA (whole in r.xml)\n--- FAIL: TestA (0.00s)\n" +
		"---- in a line each:\np TestA/x: reason --- FAIL: TestA/x (0.00s)\nq TestA: --- FAIL: TestA (0.00s)\n"))
}

func TestTheReasonIsLastInALine(t *testing.T) {
	g := NewWithT(t)
	var shown strings.Builder
	log := append(noise(99), "    x_test.go:7: ", "        Expected", "            <int>: 3", "        to be zero", "")
	show(&shown, []failure{{pkg: "p", test: "TestA", log: append(log, noise(99)...), report: "r.xml"}})
	g.Expect(shown.String()).To(MatchRegexp(`\np TestA: x_test\.go:7: Expected <int>: 3 to be zero [^\n]*\n$`))
}
