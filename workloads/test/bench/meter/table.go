package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
)

// cost is what some requests took of the CPU.
type cost struct {
	requests int
	usage
}

func (c cost) plus(d cost) cost {
	return cost{
		requests: c.requests + d.requests,
		usage:    usage{application: c.application + d.application, meter: c.meter + d.meter},
	}
}

// total is that of both processes.
func (u usage) total() time.Duration { return u.application + u.meter }

// each is the CPU time of one request.
func (c cost) each() time.Duration { return c.total() / time.Duration(max(c.requests, 1)) }

// perCore is for how many requests a second of CPU time is enough.
func perCore(requests int, cpu time.Duration) int {
	return int(float64(requests) / max(cpu, time.Microsecond).Seconds())
}

// latency is a percentile of each round, and of these the median: what else runs on the machine for a
// moment spoils one round, and not the figure.
func (w *way) latency(percent float64) time.Duration {
	rounds := make([]time.Duration, 0, len(w.latencies))
	for _, round := range w.latencies {
		rounds = append(rounds, measure.Percentile(round, percent))
	}
	return measure.Percentile(rounds, 50)
}

// markdown is all that was measured.
func (b *bench) markdown(load string, memory int64) string {
	direct, through := &b.ways[0], &b.ways[1]
	var text strings.Builder
	fmt.Fprintf(&text, "%s, with a load average of %s before the run; %d rounds in turns; latencies are the median of the rounds. Requests, direct and through the meter: "+
		"%d and %d at %d/s, %d and %d as fast as %d connections can.\n\n",
		measure.Machine(), load, b.rounds, direct.steady.requests, through.steady.requests, b.rate,
		direct.most.requests, through.most.requests, b.connections)
	text.WriteString("| | Direct | Through the meter | Difference |\n|---|---|---|---|\n")
	times := func(title string, before, after time.Duration) {
		before, after = before.Round(printed), after.Round(printed) // The difference is that of what stands beside it.
		fmt.Fprintf(&text, "| %s | %s | %s | %s |\n", title, milliseconds(before), milliseconds(after), milliseconds(after-before))
	}
	for _, percent := range []float64{50, 99} {
		times(fmt.Sprintf("latency at %d/s, p%.0f", b.rate, percent), direct.latency(percent), through.latency(percent))
	}
	times(fmt.Sprintf("CPU of a request at %d/s", b.rate), direct.steady.each(), through.steady.each())
	times("CPU of a request, as fast as possible", direct.most.each(), through.most.each())
	before, after := perCore(direct.most.requests, direct.most.total()), perCore(through.most.requests, through.most.total())
	fmt.Fprintf(&text, "| requests/s per core, as fast as possible | %d | %d | %d |\n", before, after, after-before)
	fmt.Fprintf(&text, "| requests/s per core, of the meter alone | | %d | |\n", perCore(through.most.requests, through.most.meter))
	fmt.Fprintf(&text, "| resident memory of the meter (peak) | | %s | |\n", measure.Mebibytes(memory))
	return text.String()
}

// printed is the unit of the last digit of milliseconds.
const printed = 10 * time.Microsecond

// milliseconds is a time as this table says it.
func milliseconds(d time.Duration) string { return fmt.Sprintf("%.2f ms", d.Seconds()*1000) }
