package provision

import (
	"context"
	"time"

	"github.com/critical-service/operator/internal/controller/fault"
)

// places bound how many requests that may hang are under way at once: an admission
// webhook whose own Service is down answers none of them until its timeout.
type places struct {
	taken  chan struct{}
	limit  time.Duration
	reason string
}

const (
	// A create may wait for the longest timeout that an admission webhook can have.
	createsAtOnce, createTimeout = 16, 32 * time.Second
	dryRunsAtOnce, dryRunTimeout = 2, 5 * time.Second
	// placeRetry is when to check again for a free place.
	placeRetry = time.Second
)

func newPlaces(count int, limit time.Duration, reason string) *places {
	return &places{taken: make(chan struct{}, count), limit: limit, reason: reason}
}

// run runs f within the limit of time. It never waits for a place.
func (p *places) run(ctx context.Context, f func(context.Context) error) error {
	select {
	case p.taken <- struct{}{}:
		defer func() { <-p.taken }()
	default:
		return fault.WaitFor(placeRetry, p.reason)
	}
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	return f(limited)
}
