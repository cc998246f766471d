package ingress

import (
	"context"
	"errors"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/workloads/controllers/ingress/internal/decide"
)

// longestWrite bounds how long a write, and a webhook that it asks, holds a place.
const longestWrite = 10 * time.Second

// apply sets the annotations, and takes off those that are no longer wanted. Where another has set
// one of them alike, only the API server says so: that one is left to them, and the others are set.
func (r *Reconciler) apply(ctx context.Context, ingress *networkingv1.Ingress, plan *decide.Plan) error {
	err := r.write(ctx, ingress, plan)
	if held := heldByAnother(err); len(held) > 0 {
		plan.LeaveOut(held)
		err = r.write(ctx, ingress, plan)
	}
	return err
}

// heldByAnother are the annotations for which the API server refused a write, because another
// manager has set them, too.
func heldByAnother(err error) []string {
	var status apierrors.APIStatus
	if !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) || !errors.As(err, &status) {
		return nil
	}
	var keys []string
	for _, cause := range status.Status().Details.Causes {
		if key, isKey := strings.CutPrefix(cause.Field, ".metadata.annotations."); isKey {
			keys = append(keys, key)
		}
	}
	return keys
}

// write never forces an annotation that another has set, and never makes an Ingress: the UID must
// be that of one that exists. An Ingress that has changed since it was read is read again first.
func (r *Reconciler) write(ctx context.Context, ingress *networkingv1.Ingress, plan *decide.Plan) error {
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
