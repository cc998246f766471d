package drill

import (
	"slices"
	"time"

	"github.com/critical-service/operator/internal/probe/command"
)

// Measurement is what clients of one port lost in an outage.
type Measurement struct {
	// Port is the name, or number, of the Service's port.
	Port     string `json:"port"`
	Protocol string `json:"protocol"`
	// Requests is how many questions were asked from the outage's beginning on, and
	// Failed how many of them had no answer.
	Requests int `json:"requests"`
	Failed   int `json:"failed"`
	// Unanswered is the time in which questions were asked that had no answer, and
	// LongestGap the longest stretch of it.
	Unanswered Milliseconds `json:"unansweredMilliseconds"`
	LongestGap Milliseconds `json:"longestGapMilliseconds"`
	// Distinct reports whether the application's answers can be distinguished from the
	// fallback's. If not, what follows is absent.
	Distinct bool `json:"distinct"`
	// ByApplication, ByFallback and ByOthers count answers. Others look like neither.
	ByApplication int `json:"byApplication"`
	ByFallback    int `json:"byFallback"`
	ByOthers      int `json:"byOthers,omitempty"`
	// FallbackAfter is the time from the beginning until the fallback first answered.
	FallbackAfter *Milliseconds `json:"fallbackAfterMilliseconds,omitempty"`
	// ApplicationAfter is the time from the end until the application first answered
	// again, and OnlyApplicationAfter until the fallback had answered for the last time.
	ApplicationAfter     *Milliseconds `json:"applicationAfterMilliseconds,omitempty"`
	OnlyApplicationAfter *Milliseconds `json:"onlyApplicationAfterMilliseconds,omitempty"`
	// Problem is why the last question without an answer had none.
	Problem string `json:"problem,omitempty"`
}

// signature is what an answer is recognized by.
type signature struct{ status, line, title string }

func signatureOf(seen command.Observation) signature {
	return signature{status: seen.Status, line: seen.Line, title: seen.Title}
}

// source is what answers.
type source string

const (
	application source = "application"
	fallback    source = "fallback"
	other       source = "other"
)

// signatures are those of the answers of application and fallback.
type signatures struct {
	application, fallback []signature
}

// byStatus reports whether the status alone distinguishes them. It is the better mark:
// the text of a page changes.
func (w *signatures) byStatus() bool {
	return !slices.ContainsFunc(w.application, func(a signature) bool {
		return slices.ContainsFunc(w.fallback, func(f signature) bool { return a.status == f.status })
	})
}

// distinct reports whether they can be distinguished at all.
func (w *signatures) distinct() bool {
	return len(w.application) > 0 && len(w.fallback) > 0 && !slices.ContainsFunc(w.application, func(a signature) bool { return slices.Contains(w.fallback, a) })
}

func (w *signatures) recognize(seen command.Observation) source {
	this := signatureOf(seen)
	is := func(known signature) bool { return known == this }
	if w.byStatus() {
		is = func(known signature) bool { return known.status == this.status }
	}
	switch {
	case slices.ContainsFunc(w.application, is):
		return application
	case slices.ContainsFunc(w.fallback, is):
		return fallback
	default:
		return other
	}
}

// measure sums up what the clients of a port saw from the beginning of an outage on.
// Ended is when the application was given back. It is pure.
func measure(seen []command.Observation, by *signatures, began, ended time.Time) Measurement {
	ordered := slices.SortedStableFunc(slices.Values(seen), func(a, b command.Observation) int { return a.Sent.Compare(b.Sent) })
	ordered = slices.DeleteFunc(ordered, func(o command.Observation) bool { return o.Sent.Before(began) })
	m := Measurement{Distinct: by.distinct()}
	gap := gaps{}
	for _, one := range ordered {
		m.Requests++
		gap.add(one)
		if !one.Answered {
			m.Failed++
			m.Problem = one.Problem
			continue
		}
		if m.Distinct {
			m.attribute(one, by.recognize(one), began, ended)
		}
	}
	m.Unanswered, m.LongestGap = milliseconds(gap.total), milliseconds(gap.longest)
	return m
}

func (m *Measurement) attribute(one command.Observation, from source, began, ended time.Time) {
	switch from {
	case application:
		m.ByApplication++
		if m.ApplicationAfter == nil && one.Sent.After(ended) {
			m.ApplicationAfter = new(milliseconds(one.Sent.Sub(ended)))
		}
	case fallback:
		m.ByFallback++
		if m.FallbackAfter == nil {
			m.FallbackAfter = new(milliseconds(one.Sent.Sub(began)))
		}
		if one.Sent.After(ended) {
			m.OnlyApplicationAfter = new(milliseconds(one.Sent.Sub(ended)))
		}
	case other:
		m.ByOthers++
	}
}

// gaps sums up the stretches in which questions had no answer: each reaches from
// the first question without an answer to the next that had one.
type gaps struct {
	open           bool
	since          time.Time
	total, longest time.Duration
	closed         time.Duration
}

func (g *gaps) add(one command.Observation) {
	if !one.Answered && !g.open {
		g.open, g.since, g.closed = true, one.Sent, g.total
	}
	if !g.open {
		return
	}
	length := one.Sent.Sub(g.since)
	g.total = g.closed + length
	g.longest = max(g.longest, length)
	g.open = !one.Answered
}
