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
// on it. If a status reports something else of it than before, that of every
// policy concerned is woken.
func (s Status) Judged(service types.NamespacedName, snap *decide.Snapshot, plan *decide.Plan) bool {
	next := summary.Judge(snap, plan)
	last, stored := s.known.Judgements.Replace(service, snap.Now, next)
	if stored && !next.Same(last) {
		s.wake(last.Policies())
		s.wake(next.Policies())
	}
	return stored
}

// About wakes the status of every policy that matches a Service: something that
// was not decided, and that the status reports, has changed.
func (s Status) About(service types.NamespacedName) {
	if known := s.known.Judgements.Get(service); known != nil {
		s.wake(known.Policies())
	}
}

func (s Status) wake(policies []types.NamespacedName) {
	for _, key := range policies {
		s.Wake(key)
	}
}
