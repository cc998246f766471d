package operator

import (
	"context"

	"k8s.io/client-go/dynamic"

	"github.com/critical-service/operator/internal/operator/check"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// Webhooks are what `manager check` checks.
var Webhooks = []check.Part{{Name: "conversion", Check: converts}}

// converts creates a valid AppConfig of v1, which the API server converts into v2 to store it.
func converts(ctx context.Context, client dynamic.Interface, namespace string) error {
	version := workloadsv1.GroupVersion
	resource := client.Resource(version.WithResource(Webhook.Kind.Plural)).Namespace(namespace)
	return check.Create(ctx, resource, version.WithKind(Webhook.Kind.Kind), map[string]any{"appName": "check"})
}
