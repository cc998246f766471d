package lease

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"
)

// errLost is why a former leader writes nothing.
var errLost = errors.New("another replica holds the lease: this one writes nothing more")

// fence holds back what a leader writes that may be none any more without knowing it:
// one that was frozen or cut off for longer than its Lease lasts. Such a write waits
// until the API server was asked once more.
type fence struct {
	// term is how long a Lease lasts.
	term time.Duration

	mu sync.Mutex
	// led reports whether this process has held the Lease, and not given it back; lost
	// whether the API server has named another holder since.
	led, lost bool
	// heard is when the last request was sent whose answer left the Lease to this process,
	// silent when the last one that got no answer.
	heard, silent time.Time
	// changed is closed when anything of this changes.
	changed chan struct{}
}

// set changes what is known.
func (f *fence) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

func (f *fence) holds(sent time.Time) { f.set(func() { f.led, f.lost, f.heard = true, false, sent }) }
func (f *fence) loses()               { f.set(func() { f.lost = true }) }
func (f *fence) givesBack()           { f.set(func() { f.led = false }) }
func (f *fence) hearsNothing(sent time.Time) {
	f.set(func() { f.silent = sent })
}

// isLost reports whether this process has led, and another one does now.
func (f *fence) isLost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.led && f.lost
}

// pass returns when a write may be sent, or why not. If the API server gives no answer
// to a request for the Lease that was sent after the write began, the write is tried too:
// a leader leads on then.
func (f *fence) pass(ctx context.Context) error {
	began := time.Now()
	for {
		isDecided, changed, err := f.judge(began)
		if isDecided {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// judge decides about a write, or returns what is closed when there is more to decide by.
func (f *fence) judge(began time.Time) (isDecided bool, changed <-chan struct{}, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.led && f.lost:
		return true, nil, errLost
	case !f.led, time.Since(f.heard) < f.term, f.silent.After(began):
		return true, nil, nil
	}
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return false, f.changed, nil
}

// guarded is a transport whose writes pass a fence.
type guarded struct {
	http.RoundTripper
	fence *fence
}

// RoundTrip sends a request.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodGet {
		return g.RoundTripper.RoundTrip(request)
	}
	if err := g.fence.pass(request.Context()); err != nil {
		if request.Body != nil {
			_ = request.Body.Close() // As a transport does.
		}
		return nil, err
	}
	return g.RoundTripper.RoundTrip(request)
}
