package events

import (
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How often a story is written. A Service that is down again and again must not
// flood the cluster with events, and the first times must be told at once.
const (
	// AtOnce is how many writes of one story may follow each other at once.
	AtOnce = 5
	// Every is how often one more may follow.
	Every = 5 * time.Minute
	// seriesEnds is after how long a silence the same is told in a new event.
	seriesEnds = 10 * time.Minute
	// forgotten is after how long a silence nothing is known of a story any more.
	// All its writes are allowed again by then.
	forgotten = (AtOnce + 1) * Every
)

// key is what events have in common that belong to one story.
type key struct {
	kind, reason, action string
	regarding, related   corev1.ObjectReference
}

// story is what is told again and again of the same objects for the same reason.
// Times with the same note are one event, which is counted. Another note needs
// another event, because the API server lets nobody change one.
type story struct {
	// event is the one that is being counted.
	event *eventsv1.Event
	// stored tells whether the API server has it.
	stored bool
	// count is how many times it stands for.
	count int32
	// untold is how many of these the API server was not told of.
	untold int32
	// last is the last time.
	last time.Time
	// writes says when the API server may be told.
	writes *rate.Limiter
}

func newStory() *story {
	return &story{writes: rate.NewLimiter(rate.Every(Every), AtOnce)}
}

// tell adds one time. What an event before this one has not told yet is told by
// this one, so that no time is lost.
func (s *story) tell(event *eventsv1.Event, now time.Time) {
	if s.event == nil || s.event.Note != event.Note || now.Sub(s.last) > seriesEnds {
		s.event, s.stored, s.count = event, false, s.untold
	}
	s.count++
	s.untold++
	s.last = now
}

// wait is how long the API server must not be told of anything yet.
func (s *story) wait(now time.Time) time.Duration {
	missing := 1 - s.writes.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing*float64(Every)), time.Second)
}

// page is what is to be written of a story at one moment.
type page struct {
	event  *eventsv1.Event
	stored bool
	untold int32
}

// read is what is to be written now; nil if everything is.
func (s *story) read() *page {
	if s.untold == 0 {
		return nil
	}
	event := s.event.DeepCopy()
	if s.count > 1 {
		event.Series = &eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	return &page{event: event, stored: s.stored, untold: s.untold}
}

// wrote notes that a page was written. More may have been told meanwhile.
func (s *story) wrote(p *page, now time.Time) {
	s.writes.AllowN(now, 1)
	s.untold -= p.untold
	if s.event.Name == p.event.Name {
		s.stored = true
	}
}

// lost notes that the API server has the event no more: it keeps them for an hour.
func (s *story) lost(p *page, name string) {
	if s.event.Name == p.event.Name {
		s.event.Name, s.stored = name, false
	}
}

// skip notes that the API server will never take a page.
func (s *story) skip(p *page) { s.untold -= p.untold }

// over tells whether a story can be forgotten.
func (s *story) over(now time.Time) bool { return s.untold == 0 && now.Sub(s.last) >= forgotten }
