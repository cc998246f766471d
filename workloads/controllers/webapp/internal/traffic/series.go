// Package traffic reads how many HTTP requests the Pods of WebApps serve.
package traffic

import "time"

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

// rate is that of the window, in requests per second.
func (s *series) rate(now time.Time) (float64, bool) {
	if len(s.readings) < 2 {
		return 0, false
	}
	first, last := s.readings[0], s.readings[len(s.readings)-1]
	long := last.at.Sub(first.at)
	if long < shortest || now.Sub(last.at) > stale {
		return 0, false
	}
	return (last.count - first.count) / long.Seconds(), true
}
