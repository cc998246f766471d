package check

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// CriticalServices are the webhooks of their operator.
var CriticalServices = []Part{{"conversion", conversion}, {"validation", validation}}

// conversion creates a valid object of v1, which the API server converts into v2 to store it.
func conversion(ctx context.Context, client dynamic.Interface, _ string) error {
	return create(ctx, client, criticalv1.GroupVersion, map[string]any{
		"matchLabels": []any{map[string]any{"key": "mycrd.com/check", "value": "true"}},
	})
}

// validation creates an object that no schema refuses, but the webhook does. While that is not reached, all pass.
func validation(ctx context.Context, client dynamic.Interface, _ string) error {
	err := create(ctx, client, criticalv2.GroupVersion, map[string]any{
		"serviceSelector": map[string]any{"matchLabels": map[string]any{"mycrd.com/check": "not a label"}},
	})
	switch {
	case err == nil:
		return errors.New("a CriticalService is accepted that the operator refuses")
	case apierrors.IsInvalid(err):
		return nil
	}
	return err
}

func create(ctx context.Context, client dynamic.Interface, version schema.GroupVersion, spec map[string]any) error {
	return Create(ctx, client.Resource(version.WithResource("criticalservices")), version.WithKind("CriticalService"), spec)
}
