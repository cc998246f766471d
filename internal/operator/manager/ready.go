package manager

import (
	"fmt"
	"net/http"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// synced reports whether the caches hold the cluster, so that a rollout does not
// end the old operator before the new one can act.
//
// The kind that may need conversion does not count. It is read through the webhook of
// this process, which the API server may reach only once the Pod is ready: a Pod that
// waited for it would wait for itself.
func synced(caches cache.Cache, kinds map[client.Object]cache.ByObject, isConverted func(client.Object) bool) healthz.Checker {
	return func(request *http.Request) error {
		for kind := range kinds {
			if isConverted(kind) {
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

// among reports whether an object is of a kind.
func among(kind schema.GroupKind, scheme *runtime.Scheme) func(client.Object) bool {
	return func(object client.Object) bool {
		found, err := apiutil.GVKForObject(object, scheme)
		return err == nil && found.GroupKind() == kind
	}
}

func nameOf(kind client.Object) string { return reflect.TypeOf(kind).Elem().Name() }
