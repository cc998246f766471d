package figures

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/soak/fault"
)

func TestTheOperatorMayUseSomeMoreInTheEnd(t *testing.T) {
	before := measure.Usage{Memory: 50 << 20, Goroutines: 300}
	tests := map[string]struct {
		after  measure.Usage
		failed map[fault.Kind]int
		missed []string
	}{
		"as much as before":                       {after: before},
		"less":                                    {after: measure.Usage{Memory: 1 << 20, Goroutines: 1}},
		"as much as the limits":                   {after: measure.Usage{Memory: 76 << 20, Goroutines: 380}},
		"more memory is a leak":                   {after: measure.Usage{Memory: 76<<20 + 1, Goroutines: 300}, missed: []string{"Resident memory"}},
		"more goroutines are a leak":              {after: measure.Usage{Memory: 40 << 20, Goroutines: 381}, missed: []string{"Goroutines"}},
		"requests that a fault explains may fail": {after: before, failed: map[fault.Kind]int{fault.DeletePods: 9}},
		"one in five thousand of others may":      {after: before, failed: map[fault.Kind]int{fault.None: 4}},
		"more of others are a sign":               {after: before, failed: map[fault.Kind]int{fault.None: 5}, missed: []string{"Requests that failed without a fault"}},
		"one in 25 of protected Services may, whatever explains them": {
			after: before, failed: map[fault.Kind]int{fault.None: 4, fault.Drain: 900, fault.RecreatePolicy: 56},
		},
		"more are too many, though a fault explains each": {
			after: before, failed: map[fault.Kind]int{fault.None: 4, fault.Drain: 900, fault.RecreatePolicy: 57},
			missed: []string{"Requests that failed of protected Services"},
		},
		"without protection all may": {after: before, failed: map[fault.Kind]int{fault.DeletePolicy: 9000, fault.OptOut: 9000}},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			figures := &Figures{Before: &before, After: &test.after, Requests: 24000, Failed: test.failed}
			var missed []string
			for _, verdict := range figures.Verdicts() {
				if !verdict.Met {
					missed = append(missed, verdict.What)
				}
			}
			NewWithT(t).Expect(missed).To(Equal(test.missed))
		})
	}
}

func TestTheMedianIsOfMemoryAndOfGoroutines(t *testing.T) {
	g := NewWithT(t)
	g.Expect(Median([]measure.Usage{{Memory: 3, Goroutines: 20}, {Memory: 100, Goroutines: 10}, {Memory: 2, Goroutines: 90}})).
		To(Equal(&measure.Usage{Memory: 3, Goroutines: 20}))
	g.Expect(Median(nil)).To(BeNil())
}

func TestTheLargestReplicaCounts(t *testing.T) {
	NewWithT(t).Expect(Largest([]measure.Usage{{Memory: 3, Goroutines: 20}, {Memory: 2, Goroutines: 90}})).To(Equal(measure.Usage{Memory: 3, Goroutines: 90}))
}

func run() *Figures {
	return &Figures{
		Seed: 42, Length: 5 * time.Minute, Began: time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC), Operator: "operator:v1", Services: 6, Nodes: 2,
		Looks: 412, Requests: 24000, Failed: map[fault.Kind]int{fault.DeletePods: 3, fault.None: 1}, Injected: map[fault.Kind]int{fault.DeletePods: 7, fault.OptOut: 2},
		Before: &measure.Usage{Memory: 40 << 20, Goroutines: 300}, After: &measure.Usage{Memory: 44 << 20, Goroutines: 301}, Age: 150 * time.Second,
		Unexplained: map[string]int{"12:01:02 web: refused": 1},
	}
}

func TestTheReportHasAllFigures(t *testing.T) {
	g, text := NewWithT(t), run().Markdown()
	for _, line := range []string{
		"Every invariant held.", "`make soak SOAK=5m0s SEED=42`", "| Seed | 42 |", "| Began | 2026-11-23T12:00:00Z |", "| Faults for | 5m0s |",
		"| Operator | operator:v1 |", "| Nodes | 2 |", "| Services | 6 |", "| Looks at the invariants | 412 |", "| Requests | 24000 |", "| Requests that failed | 4 |", "| Answered | 99.9833 % |",
		"| Faults injected | 9 |", "| Youngest process in the end | 2m30s |",
		"| delete the Pods by force | 7 | 3 | 0.0125 % |", "| opt the Service out | 2 | 0 | 0.0000 % |", "| kill a Pod of the operator | 0 | 0 |", "| no fault | 0 | 1 |",
		"| Resident memory | operator | 64 MiB (40 MiB, a fifth of it, and 16 MiB) | 44 MiB | met |", "| Goroutines | operator | 380 (300, a fifth of it, and 20) | 301 | met |",
		"| Without a fault | Requests that failed |", "| 12:01:02 web: refused | 1 |",
		"| Requests that failed without a fault | clients | 4 (one in 5000) | 1 | met |",
		"| Requests that failed of protected Services | clients | 960 (one in 25) | 4 | met |",
	} {
		g.Expect(text).To(ContainSubstring(line))
	}
}

func TestTheReportSaysWhatItLeavesOut(t *testing.T) {
	g, figures := NewWithT(t), run()
	for row := range mostUnexplained {
		figures.Unexplained[fmt.Sprintf("12:02:02 web: refused %d", row)] = 1
	}
	g.Expect(figures.Markdown()).To(ContainSubstring("1 more rows are left out."))
}

func TestTheReportSaysWhatTheOperatorUsedMeanwhile(t *testing.T) {
	g, figures := NewWithT(t), run()
	figures.Meanwhile = make([]measure.Usage, 12) // In the first minutes, the metrics could not be read.
	figures.Meanwhile[3], figures.Meanwhile[4] = measure.Usage{Memory: 80 << 20, Goroutines: 500}, measure.Usage{Memory: 90 << 20, Goroutines: 400}
	figures.Meanwhile[11] = measure.Usage{Memory: 70 << 20, Goroutines: 450}
	text := figures.Markdown()
	g.Expect(text).To(ContainSubstring("| 0 to 10 | 90 MiB | 500 |"))
	g.Expect(text).To(ContainSubstring("| 10 to 12 | 70 MiB | 450 |"))
}

func TestTheReportSaysWhyARunFailed(t *testing.T) {
	tests := map[string]struct {
		change func(*Figures)
		want   string
	}{
		"by what an invariant broke": {
			change: func(f *Figures) { f.Problem, f.After = "Service page: not answered.", nil }, want: "**Failed**: Service page: not answered.",
		},
		"by a limit": {change: func(f *Figures) { f.After.Goroutines = 900 }, want: "**Failed**: Goroutines: 900, and the limit is 380 (300, a fifth of it, and 20)."},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			figures := run()
			test.change(figures)
			NewWithT(t).Expect(figures.Markdown()).To(And(ContainSubstring(test.want), Not(ContainSubstring("Every invariant held"))))
		})
	}
}
