package wake

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/event"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/protection"
)

// Status tells the status controller that a Service of a CriticalService may
// have changed.
type Status chan event.TypedGenericEvent[*criticalv2.CriticalService]

// Of wakes the status of one CriticalService.
func (w Status) Of(ctx context.Context, policy *criticalv2.CriticalService) {
	select {
	case w <- event.TypedGenericEvent[*criticalv2.CriticalService]{Object: policy}:
	case <-ctx.Done():
	}
}

// Matching tells it of every CriticalService that matches the Service of a Snapshot.
func (w Status) Matching(ctx context.Context, snap *decide.Snapshot) {
	for i := range snap.Policies {
		if policy := &snap.Policies[i]; protection.Matches(policy, snap.Service, snap.NamespaceLabels) {
			w.Of(ctx, policy)
		}
	}
}
