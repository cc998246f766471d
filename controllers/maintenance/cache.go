package maintenance

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// CacheByObject says what is kept of the Maintenances of the watched namespaces (none is
// all): what the schema bounds. Labels, annotations and finalizers of others have no bound.
func CacheByObject(watched []string) map[client.Object]cache.ByObject {
	namespaces := map[string]cache.Config{}
	for _, namespace := range watched {
		namespaces[namespace] = cache.Config{}
	}
	return map[client.Object]cache.ByObject{&criticalv2.Maintenance{}: {Namespaces: namespaces, Transform: slim}}
}

func slim(object any) (any, error) {
	m, isMaintenance := object.(*criticalv2.Maintenance)
	if !isMaintenance {
		return object, nil // A tombstone.
	}
	var ours []string
	if slices.Contains(m.Finalizers, criticalv2.FinalizerRestore) {
		ours = []string{criticalv2.FinalizerRestore}
	}
	return &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
			CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Finalizers: ours,
		},
		Spec: m.Spec, Status: m.Status,
	}, nil
}
