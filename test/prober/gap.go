package prober

import (
	"slices"
	"time"
)

// Stopped says when a server stopped answering: when the first of the requests that it has not
// answered was sent, after the last one that it did. The results must be those of a prober that asks
// this server itself; what others answer, who may have its address later, does not count. It is false
// when the server answered the last request still.
func Stopped(results []Result, server string) (at time.Time, stopped bool) {
	ordered := inOrder(results)
	for _, result := range slices.Backward(ordered) {
		if result.Answered() && result.By == server {
			break
		}
		at, stopped = result.Sent, true
	}
	return at, stopped
}

// Loss is what clients missed in a stretch of time.
type Loss struct {
	Requests int
	// Failed are the requests without an answer.
	Failed int
	// Unanswered is the time, all stretches together, in which requests sent were not answered, and
	// Longest the longest of these stretches.
	Unanswered, Longest time.Duration
	// First is when, after the start, the first request was sent that another server than the one
	// before answered; Changed is false when that did not happen.
	First   time.Duration
	Changed bool
}

// Lost counts what clients missed between two moments. Before is who answered before.
func Lost(results []Result, from, to time.Time, before string) Loss {
	var within []Result
	for _, result := range inOrder(results) {
		if !result.Sent.Before(from) && result.Sent.Before(to) {
			within = append(within, result)
		}
	}
	var loss Loss
	for _, result := range within {
		loss.Requests++
		if !result.Answered() {
			loss.Failed++
		} else if !loss.Changed && result.By != before {
			loss.First, loss.Changed = result.Sent.Sub(from), true
		}
	}
	summary := Summarise(Segments(within))
	loss.Unanswered, loss.Longest = summary.Unanswered, summary.LongestGap
	return loss
}

func inOrder(results []Result) []Result {
	return slices.SortedStableFunc(slices.Values(results), func(a, b Result) int { return a.Sent.Compare(b.Sent) })
}
