package wake

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/queue"
)

// settle is how long the status controller lets changes gather, so that a burst
// makes one pass and not one each.
const settle = 250 * time.Millisecond

// Status wakes the status controller where what a status reports has changed.
type Status struct {
	*queue.Waker

	known *memory.Memory
}

// NewStatus makes it. It stores what was decided in a memory.
func NewStatus(known *memory.Memory) Status { return Status{queue.NewWaker(settle), known} }

// Judged stores what was decided about a Service, and reports whether it is the last word
// on it. If a status reports something else of it than before, that of every policy
// concerned is woken: the policies that do not govern the Service say only which one does,
// and how an outage goes on that began under them.
func (s Status) Judged(service types.NamespacedName, snap *decide.Snapshot, plan *decide.Plan) bool {
	next := summary.Judge(snap, plan)
	last, stored := s.known.Judgements.Replace(service, snap.Now, next)
	return s.follow(last, next, stored)
}

// Amended is Judged, but nothing is stored of a Service that was forgotten meanwhile.
func (s Status) Amended(service types.NamespacedName, snap *decide.Snapshot, plan *decide.Plan) bool {
	next := summary.Judge(snap, plan)
	last, stored := s.known.Judgements.Amend(service, snap.Now, next)
	return s.follow(last, next, stored)
}

func (s Status) follow(last, next *summary.Judgement, stored bool) bool {
	switch {
	case !stored || next.Same(last):
	case next.SameGovernor(last) && !next.Turns(last):
		s.Wake(next.Governor())
	default:
		s.wake(last.Policies())
		s.wake(next.Policies())
	}
	return stored
}

// About wakes the status of the policy that governs a Service: something that was not
// decided, and that the status reports, has changed.
func (s Status) About(service types.NamespacedName) {
	if known := s.known.Judgements.Get(service); known != nil {
		s.Wake(known.Governor())
	}
}

func (s Status) wake(policies []types.NamespacedName) {
	for _, key := range policies {
		s.Wake(key)
	}
}
