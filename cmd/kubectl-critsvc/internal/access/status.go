package access

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/protection"
)

// StatusOf is the status that the operator reports of a Service, by the CriticalService that governs
// it; nil if none does.
func StatusOf(ctx context.Context, from client.Reader, service types.NamespacedName) (*criticalv2.ServiceStatus, error) {
	var policies criticalv2.CriticalServiceList
	if err := from.List(ctx, &policies); err != nil {
		return nil, fmt.Errorf("list CriticalServices: %w", err)
	}
	return StatusIn(policies.Items, service), nil
}

// StatusIn is the same of CriticalServices that were read. All that match the Service
// list it, and those that do not govern it call it Ignored.
func StatusIn(policies []criticalv2.CriticalService, service types.NamespacedName) *criticalv2.ServiceStatus {
	var ignored *criticalv2.ServiceStatus
	for i := range policies {
		if !protection.IsActive(&policies[i]) {
			continue
		}
		for j := range policies[i].Status.Details {
			detail := &policies[i].Status.Details[j]
			switch {
			case detail.Namespace != service.Namespace || detail.Name != service.Name:
			case detail.State != criticalv2.StateIgnored:
				return detail
			default:
				ignored = detail
			}
		}
	}
	return ignored
}
