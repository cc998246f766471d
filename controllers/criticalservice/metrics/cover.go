package metrics

import (
	"slices"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	// recent is how long an outage is the last one for alerts.
	recent = time.Hour
	// fewest are the outages from which it is known what is usual.
	fewest = 3
)

// cover is how long the fallback of a Service took to answer.
type cover struct {
	// last is of the latest outage, and usual the median of those before it.
	last, usual time.Duration
	// isKnown is whether the latest outage is recent, was covered, and as many as that were before it.
	isKnown bool
}

// coverOf compares the latest outage of a Service with its history, the latest first. An outage in which nothing
// answered has no time to compare: the alert for that is another one.
func coverOf(outages []criticalv2.Outage, now time.Time) cover {
	if len(outages) == 0 || outages[0].Covered == nil || now.Sub(outages[0].Began.Time) > recent {
		return cover{}
	}
	var before []time.Duration
	for _, outage := range outages[1:] {
		if outage.Covered != nil {
			before = append(before, outage.Covered.Sub(outage.Began.Time))
		}
	}
	if len(before) < fewest {
		return cover{}
	}
	slices.Sort(before)
	return cover{last: outages[0].Covered.Sub(outages[0].Began.Time), usual: before[len(before)/2], isKnown: true}
}
