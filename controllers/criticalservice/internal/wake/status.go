package wake

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/protection"
)

// settle is how long the status controller lets changes gather, so that a burst
// makes one status write and not one each.
const settle = 250 * time.Millisecond

// Status wakes the status controller: something about a Service may have changed.
type Status struct{ *queue.Waker }

// NewStatus makes it.
func NewStatus() Status { return Status{queue.NewWaker(settle)} }

// Matching wakes the status of every CriticalService that matches the Service of a
// Snapshot.
func (s Status) Matching(snap *decide.Snapshot) {
	for _, policy := range protection.Matching(snap.Policies, snap.Service, snap.NamespaceLabels) {
		s.Wake(types.NamespacedName{Name: policy.Name})
	}
}
