package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/critical-service/operator/test/prober"
)

// watcher receives what the prober saw, draws it, and knows who answers at present.
type watcher struct {
	mutex sync.Mutex
	strip *strip
	// behind is how far the clock of the prober's node is behind ours, transport included.
	behind   time.Duration
	received bool
	// over is closed when there will be no more results; ended is why.
	over  chan struct{}
	ended error
}

func newWatcher(strip *strip) *watcher { return &watcher{strip: strip, over: make(chan struct{})} }

func (w *watcher) add(result prober.Result) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	// The quickest line shows the difference of the clocks best.
	behind := time.Since(result.Sent.Add(result.Latency))
	if !w.received || behind < w.behind {
		w.behind = behind
	}
	w.received = true
	w.strip.add(result)
}

// say puts a line into the timeline at the present moment.
func (w *watcher) say(format string, args ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.strip.say(time.Now().Add(-w.behind), format, args...)
}

// now is the present moment by the clock of the prober's node.
func (w *watcher) now() time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return time.Now().Add(-w.behind)
}

// since is when the one who answers now began to.
func (w *watcher) since() time.Time {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	segments := w.strip.history.Segments()
	if len(segments) == 0 {
		return time.Time{}
	}
	return segments[len(segments)-1].From
}

// end records why there will be no more results.
func (w *watcher) end(err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.ended = errors.New("the prober has ended")
	close(w.over)
	if err != nil {
		w.ended = fmt.Errorf("the prober has ended: %w", err)
	}
}

// steady says whether all requests sent during the last stretch of the given length were answered by who.
func (w *watcher) steady(who string, stretch time.Duration) (done bool, state string, err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.ended != nil {
		return false, "", w.ended
	}
	segments := w.strip.history.Segments()
	if len(segments) == 0 {
		return false, "no request yet", nil
	}
	last := segments[len(segments)-1]
	return last.Who == who && last.Duration() >= stretch, name(last.Who) + " answers", nil
}

// finish closes the drawing and returns what was seen.
func (w *watcher) finish() []prober.Segment {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.strip.finish()
	return w.strip.history.Segments()
}

// answers is the check that who has answered every request for a stretch.
func (w *watcher) answers(who string, stretch time.Duration) check {
	return func(context.Context) (bool, string, error) { return w.steady(who, stretch) }
}
