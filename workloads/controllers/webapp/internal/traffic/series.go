// Package traffic reads how many HTTP requests the Pods of WebApps serve.
package traffic

import (
	"slices"
	"time"
)

const (
	// window is the time over which a rate is taken.
	window = 30 * time.Second
	// shortest is the least time between the readings of a rate: less says too little.
	shortest = 2 * time.Second
	// stale is how old the last reading may be.
	stale = 15 * time.Second
)

// series are the readings of one Pod in the window, oldest first.
type series struct{ readings []reading }

type reading struct {
	at    time.Time
	count float64
}

// add adds a reading. A counter that became less began again, with its process.
func (s *series) add(at time.Time, count float64) {
	if last := len(s.readings) - 1; last >= 0 && (count < s.readings[last].count || !at.After(s.readings[last].at)) {
		s.readings = s.readings[:0]
	}
	s.readings = append(s.readings, reading{at, count})
	// One that is older than the window stays, so that the rate is that of the whole window.
	for len(s.readings) > 2 && !s.readings[1].at.After(at.Add(-window)) {
		s.readings = s.readings[1:]
	}
}

// isKnown reports whether the readings say how much the Pod serves now.
func (s *series) isKnown(now time.Time) bool {
	if len(s.readings) < 2 {
		return false
	}
	first, last := s.readings[0].at, s.readings[len(s.readings)-1].at
	return last.Sub(first) >= shortest && now.Sub(last) <= stale
}

// served is how many requests were counted between two moments. Those between two readings are spread evenly.
func (s *series) served(from, to time.Time) float64 { return s.countAt(to) - s.countAt(from) }

func (s *series) countAt(at time.Time) float64 {
	next, _ := slices.BinarySearchFunc(s.readings, at, func(r reading, at time.Time) int { return r.at.Compare(at) })
	switch next {
	case 0:
		return s.readings[0].count
	case len(s.readings):
		return s.readings[next-1].count
	}
	before, after := s.readings[next-1], s.readings[next]
	share := at.Sub(before.at).Seconds() / after.at.Sub(before.at).Seconds()
	return before.count + share*(after.count-before.count)
}

// rate is that of all series together, in requests per second: what they served in the window, or since the first reading
// if that is later. It is one span of time for all. If each Pod had its own, the traffic that new Pods take over would
// count twice, with them and with those that served it before, and ask for more Pods than are needed.
func rate(all []*series) float64 {
	var begin, end time.Time
	for _, s := range all {
		first, last := s.readings[0].at, s.readings[len(s.readings)-1].at
		if begin.IsZero() || first.Before(begin) {
			begin = first
		}
		if last.After(end) {
			end = last
		}
	}
	if full := end.Add(-window); begin.Before(full) {
		begin = full
	}
	served := 0.0
	for _, s := range all {
		served += s.served(begin, end)
	}
	if span := end.Sub(begin); span > 0 {
		return served / span.Seconds()
	}
	return 0
}
