package main

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
)

// target is something that is to hold in a phase of worlds of some size.
type target struct {
	phase string
	// services is the size of the worlds; 0 is every size.
	services int
	what     string
	limit    string
	// counted: it does not depend on the machine. A run that misses it fails.
	counted bool
	check   func(r result, m measured) (found string, met bool)
}

const (
	// strayReads are those that the API server may count in a phase though no Service asked for them:
	// the operator's caches renew their watches with one now and then, and others read too.
	strayReads = 20
	// strayWrites: one write in so many may meet a slice that has just changed.
	strayWrites = 100

	turnLimit   = 300 * time.Millisecond
	cpuLimit    = 3 * time.Millisecond
	longLimit   = 10 * time.Second
	scrapeLimit = time.Second
	churnLimit  = 3.0
	memoryLimit = 150 << 20
	small       = 1000
	large       = 10000
)

var targets = slices.Concat(ofTurn(phaseFail, "promotion"), ofTurn(phaseRecover, "demotion"), []target{
	{phaseArm, small, "all armed, after their responder is ready", "10 s", false, func(_ result, m measured) (string, bool) {
		return measure.Seconds(m.afterResponder), m.afterResponder <= longLimit
	}},
	{phaseDelete, small, "a CriticalService deleted", "10 s", false, func(_ result, m measured) (string, bool) {
		took := measure.Percentile(m.last, 100)
		return measure.Seconds(took), took <= longLimit
	}},
	{phaseChurn, large, "CPU of churn", "3 % of one core", false, func(_ result, m measured) (string, bool) {
		share := m.cost.cpu.Seconds() / m.end.Sub(m.start).Seconds() * 100
		return fmt.Sprintf("%.1f %%", share), share <= churnLimit
	}},
	{phaseChurn, large, "a scrape of the metrics", "1 s", false, func(_ result, m measured) (string, bool) {
		return measure.Seconds(m.cost.scrapeTime), m.cost.scrapeTime <= scrapeLimit
	}},
	{phaseRestart, large, "first promotion after the start of the process", "10 s", false, func(_ result, m measured) (string, bool) {
		return measure.Seconds(m.afterStart), m.afterStart <= longLimit
	}},
	{phaseRecover, large, "RSS", "150 MiB", true, func(_ result, m measured) (string, bool) {
		return measure.Mebibytes(m.cost.rss), m.cost.rss <= memoryLimit
	}},
	{phaseArm, 0, "restarts at the memory limit", "0", true, func(r result, _ measured) (string, bool) {
		return fmt.Sprint(r.restarts), r.restarts == 0
	}},
})

// ofTurn are the targets of a promotion or a demotion.
func ofTurn(phase, what string) []target {
	return []target{
		{phase, small, what + ", p99", "0.3 s", false, func(_ result, m measured) (string, bool) {
			p99 := measure.Percentile(m.last, 99)
			return measure.Seconds(p99), p99 <= turnLimit
		}},
		{phase, small, "CPU per " + what, "3 ms", false, func(r result, m measured) (string, bool) {
			each := m.cost.cpu / time.Duration(r.world.turned())
			return fmt.Sprintf("%.1f ms", each.Seconds()*1000), each <= cpuLimit
		}},
		{phase, 0, "reads per " + what, "0", true, func(r result, m measured) (string, bool) {
			return each(m.cost.reads, r.world.turned()), m.cost.reads <= strayReads
		}},
		{phase, 0, "writes per slice and " + what, "1", true, func(_ result, m measured) (string, bool) {
			return each(m.cost.sliceWrites+m.cost.late, m.turned),
				m.turned > 0 && m.cost.sliceWrites <= m.turned && m.cost.late <= m.turned/strayWrites
		}},
		{phase, 0, "events per " + what, "1", true, func(r result, m measured) (string, bool) {
			return each(m.events, r.world.turned()), m.events == r.world.turned()
		}},
	}
}

// judge compares what was measured with the targets, in the order of the worlds.
func judge(results []result) []measure.Verdict {
	var verdicts []measure.Verdict
	for _, r := range results {
		for _, target := range targets {
			i := slices.IndexFunc(r.phases, func(m measured) bool { return m.name == target.phase })
			if i < 0 || cmp.Or(target.services, r.world.total()) != r.world.total() {
				continue
			}
			found, met := target.check(r, r.phases[i])
			verdicts = append(verdicts, measure.Verdict{
				What: target.what, Of: r.world.String(), Limit: target.limit, Counted: target.counted, Found: found, Met: met,
			})
		}
	}
	return verdicts
}
