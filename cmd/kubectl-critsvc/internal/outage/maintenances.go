package outage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// MaintenancesOf are the Maintenances that name a Service, by name; without the name of a
// Service, all of the namespace, or of all namespaces.
func MaintenancesOf(ctx context.Context, from client.Reader, service types.NamespacedName) ([]criticalv2.Maintenance, error) {
	var list criticalv2.MaintenanceList
	if err := from.List(ctx, &list, client.InNamespace(service.Namespace)); err != nil {
		return nil, fmt.Errorf("list Maintenances: %w", err)
	}
	return slices.DeleteFunc(list.Items, func(m criticalv2.Maintenance) bool { return service.Name != "" && !m.IsAbout(service.Name) }), nil
}

// IsOn reports whether a maintenance or a drill is under way, or owes something yet. A
// recurring one is on in its windows.
func IsOn(m *criticalv2.Maintenance, now time.Time) bool {
	owes := m.Owes() != nil
	return m.Status.Ended == nil && (m.DeletionTimestamp == nil || owes) && (owes || m.HasBegun(now) && !m.IsExpired(now))
}
