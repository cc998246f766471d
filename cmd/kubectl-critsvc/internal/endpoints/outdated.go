package endpoints

import (
	"context"
	"time"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	// Noticing is how long the operator may take to report an outage: it writes a status a
	// quarter of a second after what it saw, and at most once a second.
	Noticing = 3 * time.Second
	// Again is the time between two looks at what it is about to report.
	Again = time.Second
)

// IsOutdated reports whether a status says that the application of a Service answers,
// and it has no ready endpoint. So it is for a moment at the beginning of each outage;
// where it stays so for longer than Noticing, the operator does not seem to run.
func IsOutdated(state criticalv2.ServiceState, reason string, ready int) bool {
	isUp := state == criticalv2.StateArmed || state == criticalv2.StateArming
	return isUp && reason != criticalv2.ReasonEndpointsUnknown && ready == 0
}

// Settled reads once, and where the status that was read is late, again until it is not or
// the operator has had the time to write it.
func Settled[T any](ctx context.Context, read func() (T, error), isLate func(T) bool) (T, error) {
	found, err := read()
	for first := time.Now(); err == nil && isLate(found) && time.Since(first) < Noticing; found, err = read() {
		select {
		case <-ctx.Done():
			return found, ctx.Err()
		case <-time.After(Again):
		}
	}
	return found, err
}
