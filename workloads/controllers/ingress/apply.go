package ingress

import (
	"context"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

// longestWrite bounds how long a write, and a webhook that it asks, holds a place.
const longestWrite = 10 * time.Second

// apply sets the annotations, and takes off those that are no longer wanted. It never forces one
// that another has set, and never makes an Ingress: the UID must be that of one that exists. An
// Ingress that has changed since it was read is read again first.
func (r *Reconciler) apply(ctx context.Context, ingress *networkingv1.Ingress, plan *decide.Plan) error {
	if err := r.pace.Wait(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, longestWrite)
	defer cancel()
	annotations := make(map[string]any, len(plan.Apply))
	for key, value := range plan.Apply {
		annotations[key] = value
	}
	metadata := map[string]any{
		"namespace": ingress.Namespace, "name": ingress.Name, "uid": string(ingress.UID), "resourceVersion": ingress.ResourceVersion,
	}
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	wanted := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": networkingv1.SchemeGroupVersion.String(), "kind": "Ingress", "metadata": metadata,
	}}
	return r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(wanted))
}
