// Package read holds how controllers read single objects.
package read

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is a pointer to an object of the API.
type Object[T any] interface {
	*T
	client.Object
}

// Existing reads an object; nil if it does not exist, which is how a Snapshot says so.
func Existing[T any, P Object[T]](ctx context.Context, from client.Reader, key types.NamespacedName) (P, error) {
	object := P(new(T))
	err := from.Get(ctx, key, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	default:
		return object, nil
	}
}

// Named reads the object of a name, also one that another user made; nil if there is none. A cache that has only
// what carries a label cannot say so: whether there is another is known to the API server alone.
func Named[T any, P Object[T]](ctx context.Context, labelled, live client.Reader, key types.NamespacedName) (P, error) {
	object, err := Existing[T, P](ctx, labelled, key)
	if err != nil || object != nil {
		return object, err
	}
	return Existing[T, P](ctx, live, key)
}

// Unchanged fails with a conflict where an object of a resource is another one, has another spec, or is being deleted while the
// one that was read was not, which the API server counts as a generation: a cache may be behind.
func Unchanged[T any, P Object[T]](ctx context.Context, live client.Reader, resource schema.GroupResource, before P) error {
	now := P(new(T))
	if err := live.Get(ctx, client.ObjectKeyFromObject(before), now); err != nil {
		return err
	}
	if now.GetUID() != before.GetUID() || now.GetGeneration() != before.GetGeneration() {
		return apierrors.NewConflict(resource, now.GetName(), errors.New("it has changed since it was read"))
	}
	return nil
}

// UIDOf is the UID of an object; empty if there is none.
func UIDOf[T any, P Object[T]](object P) types.UID {
	if object == nil {
		return ""
	}
	return object.GetUID()
}
