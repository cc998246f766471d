// Package read holds how controllers read single objects.
package read

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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

// UIDOf is the UID of an object; empty if there is none.
func UIDOf[T any, P Object[T]](object P) types.UID {
	if object == nil {
		return ""
	}
	return object.GetUID()
}
