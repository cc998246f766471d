package prober

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// NoAnswer is who "answers" while no request is answered.
const NoAnswer = ""

// Segment is a stretch of consecutive requests with the same answerer.
type Segment struct {
	// Who answered; NoAnswer when no request of the stretch was answered.
	Who string
	// From is when the first request of the stretch was sent, To when the first one of the next
	// stretch was; in the last stretch, when its own last request was.
	From, To time.Time
	Requests int
	// Faults counts why requests were not answered.
	Faults map[Fault]int
}

// Duration is how long the stretch lasted.
func (s Segment) Duration() time.Duration { return s.To.Sub(s.From) }

// Timeline builds segments from results given in the order in which the requests were sent.
type Timeline struct {
	segments []Segment
}

// Add takes the next result and says whether the answerer changed with it.
func (t *Timeline) Add(result Result) (changed bool) {
	who := NoAnswer
	if result.Answered() {
		who = result.By
	}
	last := len(t.segments) - 1
	changed = last < 0 || t.segments[last].Who != who
	if last >= 0 {
		t.segments[last].To = result.Sent
	}
	if changed {
		t.segments = append(t.segments, Segment{Who: who, From: result.Sent, To: result.Sent})
		last++
	}
	segment := &t.segments[last]
	segment.Requests++
	if !result.Answered() {
		if segment.Faults == nil {
			segment.Faults = map[Fault]int{}
		}
		segment.Faults[result.Fault]++
	}
	return changed
}

// Segments are the stretches so far. The result is the caller's own.
func (t *Timeline) Segments() []Segment {
	segments := slices.Clone(t.segments)
	for i := range segments {
		segments[i].Faults = maps.Clone(segments[i].Faults)
	}
	return segments
}

// Segments orders results by the time at which they were sent and finds who answered from when to when.
func Segments(results []Result) []Segment {
	ordered := slices.Clone(results)
	slices.SortStableFunc(ordered, func(a, b Result) int { return a.Sent.Compare(b.Sent) })
	var timeline Timeline
	for _, result := range ordered {
		timeline.Add(result)
	}
	return timeline.segments
}

// Summary is the balance of a run.
type Summary struct {
	Requests int
	// Answered counts the answers of each answerer.
	Answered map[string]int
	// Faults counts the requests without an answer.
	Faults map[Fault]int
	// Unanswered is the time, all stretches together, during which a request sent got no answer;
	// LongestGap is the longest of these stretches.
	Unanswered, LongestGap time.Duration
}

// Summarise adds segments up.
func Summarise(segments []Segment) Summary {
	summary := Summary{Answered: map[string]int{}, Faults: map[Fault]int{}}
	for _, segment := range segments {
		summary.Requests += segment.Requests
		if segment.Who != NoAnswer {
			summary.Answered[segment.Who] += segment.Requests
			continue
		}
		for fault, count := range segment.Faults {
			summary.Faults[fault] += count
		}
		summary.Unanswered += segment.Duration()
		summary.LongestGap = max(summary.LongestGap, segment.Duration())
	}
	return summary
}

// Phase is a segment, or several short ones that alternate.
type Phase struct {
	From, To time.Time
	// Requests counts by answerer, NoAnswer included.
	Requests map[string]int
	// Faults counts why requests were not answered.
	Faults map[Fault]int
}

// Duration is how long the phase lasted.
func (p Phase) Duration() time.Duration { return p.To.Sub(p.From) }

// Who lists the answerers of the phase, the busiest first.
func (p Phase) Who() []string {
	return slices.SortedFunc(maps.Keys(p.Requests), func(a, b string) int {
		if p.Requests[a] != p.Requests[b] {
			return p.Requests[b] - p.Requests[a]
		}
		return strings.Compare(a, b)
	})
}

// Phases makes segments fit to be read by people. While traffic changes over, requests go here and
// there: neighbouring segments all shorter than window become one mixed phase. A phase that is short
// even so, such as one lost request, joins the phase before it.
func Phases(segments []Segment, window time.Duration) []Phase {
	var phases []Phase
	for _, group := range groups(segments, window) {
		phase := newPhase(group)
		last := len(phases) - 1
		if last >= 0 && (phase.Duration() < window || phases[last].continuedBy(phase)) {
			phases[last] = phases[last].with(phase)
			continue
		}
		phases = append(phases, phase)
	}
	return phases
}

// groups puts short segments that follow one another together.
func groups(segments []Segment, window time.Duration) [][]Segment {
	var grouped [][]Segment
	mixing := false
	for _, segment := range segments {
		short := segment.Duration() < window
		if short && mixing {
			last := len(grouped) - 1
			grouped[last] = append(grouped[last], segment)
		} else {
			grouped = append(grouped, []Segment{segment})
		}
		mixing = short
	}
	return grouped
}

func newPhase(segments []Segment) Phase {
	phase := Phase{From: segments[0].From, Requests: map[string]int{}, Faults: map[Fault]int{}}
	for _, segment := range segments {
		phase.To = segment.To
		phase.Requests[segment.Who] += segment.Requests
		for fault, count := range segment.Faults {
			phase.Faults[fault] += count
		}
	}
	return phase
}

// continuedBy says whether the same answerer answers alone in the next phase as does, but for a
// few requests, in this one.
func (p Phase) continuedBy(next Phase) bool {
	who, total := p.Who()[0], 0
	for _, count := range p.Requests {
		total += count
	}
	const mostly = 0.9
	return len(next.Requests) == 1 && next.Who()[0] == who && float64(p.Requests[who]) >= mostly*float64(total)
}

// with is the phase that two which follow one another make together.
func (p Phase) with(next Phase) Phase {
	both := Phase{From: p.From, To: next.To, Requests: maps.Clone(p.Requests), Faults: maps.Clone(p.Faults)}
	for who, count := range next.Requests {
		both.Requests[who] += count
	}
	for fault, count := range next.Faults {
		both.Faults[fault] += count
	}
	return both
}
