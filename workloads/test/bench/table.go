package main

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
)

// result are all rounds of a comparison.
type result struct {
	comparison
	// took are the times of each contender.
	took [2][]time.Duration
}

func (r *result) median(who int) time.Duration { return measure.Percentile(r.took[who], 50) }

// overhead is how much longer the second takes.
func (r *result) overhead() time.Duration { return r.median(1) - r.median(0) }

// judge compares what was measured with the targets.
func judge(results []result) []measure.Verdict {
	var verdicts []measure.Verdict
	for _, r := range results {
		if r.limit > 0 {
			verdicts = append(verdicts, measure.Verdict{
				What: r.title + ", longer", Of: r.contenders[1].title, Limit: measure.Seconds(r.limit),
				Found: measure.Seconds(r.overhead()), Met: r.overhead() <= r.limit,
			})
		}
	}
	return verdicts
}

// markdown is all that was measured.
func (b *bench) markdown(results []result, verdicts []measure.Verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Kubernetes %s, one node, %d cores; %d rounds in turns, with the engine of type mongo.\n\n", b.cluster.Version, runtime.NumCPU(), b.rounds)
	text.WriteString("| Time, median (most) | Without the operator | Database | Ratio | Longer |\n|---|---|---|---|---|\n")
	for _, r := range results {
		fmt.Fprintf(&text, "| %s | %s: %s | %s | %.2f | %s |\n", r.title, r.contenders[0].title, r.cell(0), r.cell(1),
			r.median(1).Seconds()/r.median(0).Seconds(), measure.Seconds(r.overhead()))
	}
	return text.String() + "\n" + measure.Verdicts("Of", verdicts)
}

// cell is one contender in all rounds.
func (r *result) cell(who int) string {
	return fmt.Sprintf("%s (%s)", measure.Seconds(r.median(who)), measure.Seconds(measure.Percentile(r.took[who], 100)))
}
