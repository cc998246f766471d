package maintenance

import (
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/read"
)

// CacheByObject says what is kept of the Maintenances of the watched namespaces (none is
// all): what the schema bounds. Labels, annotations and finalizers of others have no bound.
func CacheByObject(watched []string) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{&criticalv2.Maintenance{}: {Namespaces: read.Namespaces(watched), Transform: slim}}
}

func slim(object any) (any, error) {
	m, isMaintenance := object.(*criticalv2.Maintenance)
	if !isMaintenance {
		return object, nil // A tombstone.
	}
	kept := &criticalv2.Maintenance{ObjectMeta: read.Meta(&m.ObjectMeta), Spec: m.Spec, Status: m.Status}
	if slices.Contains(m.Finalizers, criticalv2.FinalizerRestore) {
		kept.Finalizers = []string{criticalv2.FinalizerRestore}
	}
	return kept, nil
}
