package events

import (
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How often a series is written. A Service that is down again and again must not
// flood the cluster with events, and the first occurrences must be written at once.
const (
	// AtOnce is how many writes of one series may follow each other at once.
	AtOnce = 5
	// Every is how often one more may follow.
	Every = 5 * time.Minute
	// seriesEnds is after how long without an occurrence the next one is a new event.
	seriesEnds = 10 * time.Minute
	// forgotten is after how long without an occurrence a series is dropped. All its
	// writes are allowed again by then.
	forgotten = (AtOnce + 1) * Every
)

// key is what the events of one series have in common.
type key struct {
	kind, reason, action string
	regarding, related   corev1.ObjectReference
}

// series is what happens again and again to the same objects for the same reason.
// Occurrences with the same note are one event, which is counted. Another note needs
// another event, because the API server does not let the note of an event change.
type series struct {
	// event is the one that is being counted.
	event *eventsv1.Event
	// stored is true once the API server has it.
	stored bool
	// count is how many occurrences it stands for.
	count int32
	// unwritten is how many of these the API server does not know of.
	unwritten int32
	// last is the time of the last occurrence.
	last time.Time
	// limiter says when the next write is allowed.
	limiter *rate.Limiter
}

func newSeries() *series {
	return &series{limiter: rate.NewLimiter(rate.Every(Every), AtOnce)}
}

// add adds one occurrence. Those that were not written in an event before this one are
// counted in this one, so that none is lost.
func (s *series) add(event *eventsv1.Event, now time.Time) {
	if s.event == nil || s.event.Note != event.Note || now.Sub(s.last) > seriesEnds {
		s.event, s.stored, s.count = event, false, s.unwritten
	}
	s.count++
	s.unwritten++
	s.last = now
}

// wait is how long it is until a write is allowed.
func (s *series) wait(now time.Time) time.Duration {
	missing := 1 - s.limiter.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return max(time.Duration(missing*float64(Every)), time.Second)
}

// write is what is to be written of a series at one moment.
type write struct {
	event  *eventsv1.Event
	stored bool
	// occurrences is how many of them the API server does not know of yet.
	occurrences int32
}

// next is what is to be written now; nil if all is written.
func (s *series) next() *write {
	if s.unwritten == 0 {
		return nil
	}
	event := s.event.DeepCopy()
	if s.count > 1 {
		event.Series = &eventsv1.EventSeries{Count: s.count, LastObservedTime: metav1.NewMicroTime(s.last)}
	}
	return &write{event: event, stored: s.stored, occurrences: s.unwritten}
}

// succeeded takes a write that succeeded. More may have happened meanwhile.
func (s *series) succeeded(w *write, now time.Time) {
	s.limiter.AllowN(now, 1)
	s.unwritten -= w.occurrences
	if s.event.Name == w.event.Name {
		s.stored = true
	}
}

// lost takes that the API server no longer has the event: it keeps events for an hour.
func (s *series) lost(w *write, name string) {
	if s.event.Name == w.event.Name {
		s.event.Name, s.stored = name, false
	}
}

// skip takes that the API server will never accept a write.
func (s *series) skip(w *write) { s.unwritten -= w.occurrences }

// isOver reports whether a series can be dropped.
func (s *series) isOver(now time.Time) bool { return s.unwritten == 0 && now.Sub(s.last) >= forgotten }
