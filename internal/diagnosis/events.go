package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
)

// lastOf is when an event happened last.
func lastOf(event *eventsv1.Event) time.Time {
	last := event.DeprecatedLastTimestamp.Time
	for _, at := range []time.Time{event.EventTime.Time, event.CreationTimestamp.Time} {
		if at.After(last) {
			last = at
		}
	}
	if event.Series != nil && event.Series.LastObservedTime.After(last) {
		last = event.Series.LastObservedTime.Time
	}
	return last
}

// timesOf is how often an event has happened.
func timesOf(event *eventsv1.Event) int32 {
	times := max(event.DeprecatedCount, 1)
	if event.Series != nil {
		times = max(times, event.Series.Count)
	}
	return times
}

// latest is the last recent event about an object that is chosen; nil if none.
func (e *Evidence) latest(about types.UID, chosen func(*eventsv1.Event) bool) *eventsv1.Event {
	return e.latestWithin(recently, about, chosen)
}

func (e *Evidence) latestWithin(limit time.Duration, about types.UID, chosen func(*eventsv1.Event) bool) *eventsv1.Event {
	var fitting []*eventsv1.Event
	for i := range e.Events {
		event := &e.Events[i]
		if about != "" && event.Regarding.UID == about && e.Now.Sub(lastOf(event)) < limit && chosen(event) {
			fitting = append(fitting, event)
		}
	}
	if len(fitting) == 0 {
		return nil
	}
	return slices.MaxFunc(fitting, func(a, b *eventsv1.Event) int {
		return cmp.Or(lastOf(a).Compare(lastOf(b)), strings.Compare(a.Note, b.Note))
	})
}
