package access

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// GetService reads a Service.
func GetService(ctx context.Context, from client.Reader, name types.NamespacedName) (*corev1.Service, error) {
	service := &corev1.Service{}
	err := from.Get(ctx, name, service)
	switch {
	case apierrors.IsNotFound(err):
		return nil, NoService(name)
	case err != nil:
		return nil, fmt.Errorf("read Service %s: %w", name, err)
	}
	return service, nil
}

// NoService is the error of every command about a Service that does not exist.
func NoService(name types.NamespacedName) error {
	return fmt.Errorf("there is no Service %q in namespace %q: choose the namespace by -n", name.Name, name.Namespace)
}
