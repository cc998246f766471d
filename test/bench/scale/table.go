package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/observability/picture"
)

// markdown is all that was measured: a table for each world, and one of the targets.
func markdown(version string, results []result, verdicts []measure.Verdict) string {
	var text strings.Builder
	fmt.Fprintf(&text, "Kubernetes %s with its control plane and all else on one machine: %s.\n", version, measure.Machine())
	for _, r := range results {
		text.WriteString("\n" + worldTable(r))
	}
	text.WriteString("\n" + comparison(results))
	text.WriteString("\n" + measure.Verdicts("Services", verdicts))
	return text.String()
}

func worldTable(r result) string {
	var text strings.Builder
	where := "responders on the real node, self-test on"
	if r.world.fake {
		where = "responders on a fake node, self-test off"
	}
	namespaces := "namespaces"
	if r.world.namespaces == 1 {
		namespaces = "namespace"
	}
	fmt.Fprintf(&text, "**%d %s x %d Services**, %s; load of the machine before it: %s\n\n",
		r.world.namespaces, namespaces, r.world.services, where, r.load)
	text.WriteString("| Phase | First slice, p50 / p99 / max | Last slice, p50 / p99 / max | Reads | Slices written (late) | Events | All requests by method | CPU | RSS (peak) | Scrape |\n")
	text.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, m := range r.phases {
		fmt.Fprintf(&text, "| %s | %s | %s | %d | %d (%d) | %d | %s | %.2f s | %s (%s) | %s, %.1f MB |\n",
			m.name, measure.Percentiles(m.first), measure.Percentiles(m.last), m.cost.reads, m.cost.sliceWrites, m.cost.late, m.events,
			m.cost.methods, m.cost.cpu.Seconds(), measure.Mebibytes(m.cost.rss), measure.Mebibytes(m.cost.peak),
			measure.Seconds(m.cost.scrapeTime), float64(m.cost.scrapeSize)/1e6)
	}
	return text.String()
}

// comparison puts the script of the source document beside each world.
func comparison(results []result) string {
	rows := []struct {
		what, script, phase string
		of                  func(m measured, services int) string
	}{
		{"start until an outage is acted on", "95 to 109 s, 40,604 requests", phaseRestart, func(m measured, _ int) string {
			return fmt.Sprintf("%s, %d requests", measure.Seconds(m.afterStart), m.cost.methods.Total())
		}},
		{"requests of one failover", "605", phaseFail, func(m measured, services int) string {
			return each(m.cost.reads+m.cost.sliceWrites+m.cost.late+m.events, services)
		}},
		{"many fail: the fastest is acted on after", "2.2 s (199 at once)", phaseFail, func(m measured, _ int) string {
			return measure.Seconds(measure.Percentile(m.last, 0))
		}},
		{"many fail: the slowest is acted on after", "246 s (199 at once)", phaseFail, func(m measured, _ int) string {
			return measure.Seconds(measure.Percentile(m.last, 100))
		}},
		{"memory", "69 MiB", phaseFail, func(m measured, _ int) string { return measure.Mebibytes(m.cost.rss) }},
	}
	var text strings.Builder
	text.WriteString("| | The script, 200 Services |")
	for _, r := range results {
		fmt.Fprintf(&text, " %s |", r.world)
	}
	text.WriteString("\n|---|---|" + strings.Repeat("---|", len(results)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(&text, "| %s | %s |", row.what, row.script)
		for _, r := range results {
			cell := ""
			if i := slices.IndexFunc(r.phases, func(m measured) bool { return m.name == row.phase }); i >= 0 {
				cell = row.of(r.phases[i], r.world.turned())
			}
			fmt.Fprintf(&text, " %s |", cell)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// String reports one phase in a line.
func (m measured) String() string {
	return fmt.Sprintf("%s: %.1f s; first slice %s, last slice %s; %d reads, %d slices written (%d late) for %d, %d events, %s; CPU %.2f s, RSS %s (peak %s); scrape %s, %d bytes",
		m.name, m.end.Sub(m.start).Seconds(), measure.Percentiles(m.first), measure.Percentiles(m.last), m.cost.reads, m.cost.sliceWrites, m.cost.late, m.turned,
		m.events, m.cost.methods, m.cost.cpu.Seconds(), measure.Mebibytes(m.cost.rss), measure.Mebibytes(m.cost.peak), measure.Seconds(m.cost.scrapeTime), m.cost.scrapeSize)
}

// each is how many come to each of some.
func each(count, of int) string {
	return fmt.Sprintf("%.2f", float64(count)/float64(max(of, 1)))
}

// draw is the picture of a world over time.
func draw(r result) (string, error) {
	start := r.phases[0].start
	end := r.phases[len(r.phases)-1].end
	second := func(at time.Time) float64 { return at.Sub(start).Seconds() }
	drawn := picture.Picture{
		Title: fmt.Sprintf("The operator with %d Services", r.world.total()), Description: describe(r), Command: "make bench-scale",
		End:   second(end),
		Lanes: []picture.Lane{{Label: "phase"}},
	}
	for n, m := range r.phases {
		drawn.Lanes[0].Pieces = append(drawn.Lanes[0].Pieces, picture.Piece{
			From: second(m.start), To: second(m.end), Text: m.name, Colour: []picture.Colour{picture.Plain, picture.Muted}[n%2],
		})
	}
	curve := func(name string, colour picture.Colour, of func(moment) float64) picture.Curve {
		c := picture.Curve{Name: name, Colour: colour}
		for _, m := range r.moments {
			if !m.at.Before(start) && !m.at.After(end) {
				c.Points = append(c.Points, picture.Point{second(m.at), of(m)})
			}
		}
		return c
	}
	drawn.Lanes = append(drawn.Lanes,
		picture.Lane{Label: "Services", Curves: []picture.Curve{
			curve("armed", picture.OK, func(m moment) float64 { return float64(m.armed) }),
			curve("promoted", picture.Warn, func(m moment) float64 { return float64(m.promoted) }),
		}},
		picture.Lane{Label: "CPU, % of one core", Curves: []picture.Curve{
			curve("operator", picture.Plain, func(m moment) float64 { return m.cpu * 100 }),
		}},
		picture.Lane{Label: "memory, MiB", Curves: []picture.Curve{
			curve("RSS", picture.Plain, func(m moment) float64 { return float64(m.rss >> 20) }),
		}},
	)
	return drawn.SVG()
}

// describe says what the picture shows.
func describe(r result) string {
	names := make([]string, len(r.phases))
	for n, m := range r.phases {
		names[n] = m.name
	}
	return fmt.Sprintf("%d Services over time, in the phases %s: how many are armed and promoted, and the CPU and memory of the operator.",
		r.world.total(), strings.Join(names, ", "))
}
