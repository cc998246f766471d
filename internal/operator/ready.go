package operator

import (
	"fmt"
	"net/http"
	"reflect"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// synced reports whether the caches hold the cluster, so that a rollout does not
// end the old operator before the new one can act.
//
// The kinds that may need conversion do not count. They are read through the
// webhook of this process, which the API server may reach only once the Pod is
// ready: a Pod that waited for them would wait for itself.
func synced(caches cache.Cache, kinds map[client.Object]cache.ByObject) healthz.Checker {
	return func(request *http.Request) error {
		for kind := range kinds {
			if converted(kind) {
				continue
			}
			informer, err := caches.GetInformer(request.Context(), kind, cache.BlockUntilSynced(false))
			if err != nil {
				return fmt.Errorf("watch %s: %w", nameOf(kind), err)
			}
			if !informer.HasSynced() {
				return fmt.Errorf("the cache does not hold every %s yet", nameOf(kind))
			}
		}
		return nil
	}
}

func converted(kind client.Object) bool {
	_, isOurs := kind.(*criticalv2.CriticalService)
	return isOurs
}

func nameOf(kind client.Object) string { return reflect.TypeOf(kind).Elem().Name() }
