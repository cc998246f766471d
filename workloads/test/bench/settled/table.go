package main

import (
	"fmt"
	"strings"

	"github.com/critical-service/operator/test/bench/measure"
)

const (
	cpuLimit    = 1.0
	memoryLimit = 100 << 20
)

// judge compares what was measured with the targets.
func judge(looks []look) []measure.Verdict {
	var verdicts []measure.Verdict
	for _, l := range looks {
		verdicts = append(verdicts,
			measure.Verdict{What: "writes", Of: l.since, Limit: "0", Counted: true, Found: fmt.Sprint(l.writes()), Met: l.writes() == 0},
			measure.Verdict{What: "CPU", Of: l.since, Limit: "1 % of one core", Found: fmt.Sprintf("%.1f %%", l.share()), Met: l.share() <= cpuLimit},
			measure.Verdict{What: "resident memory", Of: l.since, Limit: "100 MiB", Counted: true, Found: measure.Mebibytes(l.rss), Met: l.rss <= memoryLimit},
		)
	}
	return verdicts
}

// markdown is all that was measured.
func markdown(version string, o options, looks []look, verdicts []measure.Verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%d Databases with volumes and %d AppConfigs, each used by a Deployment, for %s; Kubernetes %s, and all on one machine: %s.\n\n",
		o.count, o.count, o.length, version, measure.Machine())
	text.WriteString("| Since | Writes | All requests by method | CPU | RSS (peak) |\n|---|---|---|---|---|\n")
	for _, l := range looks {
		fmt.Fprintf(&text, "| %s | %d | %s | %s | %s (%s) |\n", l.since, l.writes(), l.requests, measure.Seconds(l.cpu),
			measure.Mebibytes(l.rss), measure.Mebibytes(l.peak))
	}
	return text.String() + "\n" + measure.Verdicts("Since", verdicts)
}

// String reports one look in a line.
func (l look) String() string {
	return fmt.Sprintf("since %s: %d writes, %s; CPU %s, RSS %s (peak %s)", l.since, l.writes(), l.requests, measure.Seconds(l.cpu),
		measure.Mebibytes(l.rss), measure.Mebibytes(l.peak))
}
