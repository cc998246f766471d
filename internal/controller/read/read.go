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
