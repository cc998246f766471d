package main

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
)

// table tells all rounds in Markdown: for each outage and variant the median and the worst round.
func (b *bench) table(results map[string][]measurement) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Kubernetes %s, one node, %d cores; %d rounds of each outage, %d requests per second and Service.\n\n",
		b.cluster.Version, runtime.NumCPU(), b.rounds, b.rate)
	text.WriteString("| Outage |")
	for _, v := range b.variants {
		fmt.Fprintf(&text, " %s |", v.title)
	}
	text.WriteString("\n|---" + strings.Repeat("|---", len(b.variants)) + "|\n")
	for _, o := range outages {
		if len(results[o.name]) == 0 {
			continue
		}
		fmt.Fprintf(&text, "| %s |", o.name)
		for _, v := range b.variants {
			fmt.Fprintf(&text, " %s |", cell(v, results[o.name]))
		}
		text.WriteString("\n")
	}
	return text.String()
}

// cell is one variant in one kind of outage.
func cell(v *variant, rounds []measurement) string {
	var unanswered []time.Duration
	lost, early := 0, 0
	for _, measured := range rounds {
		loss := measured[v.name]
		unanswered = append(unanswered, loss.Unanswered)
		lost = max(lost, loss.Failed)
		early = max(early, loss.early)
	}
	if !v.protected {
		return "until the application is back"
	}
	slices.Sort(unanswered)
	text := fmt.Sprintf("%s, at most %s; %d requests lost", measure.Seconds(unanswered[len(unanswered)/2]), measure.Seconds(unanswered[len(unanswered)-1]), lost)
	if early > 0 {
		text += fmt.Sprintf(" (and %d before the Pod stopped)", early)
	}
	return text
}
