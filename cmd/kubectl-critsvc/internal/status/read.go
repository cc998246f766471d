// Package status is the command that lists the protected Services: their state,
// since when, why, what answers, and whether the next failover will work.
package status

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// facts are what the list is made from.
type facts struct {
	policies  []criticalv2.CriticalService
	slices    []discoveryv1.EndpointSlice
	fallbacks []corev1.Pod
	refused   refusals
}

// refusals are the kinds that the person may not list. The list is then made
// without them.
type refusals struct {
	slices, pods bool
}

// read reads the objects of a namespace, or of all if it is empty; not those of
// which it is known that they are refused.
func read(ctx context.Context, reader client.Reader, namespace string, refused refusals) (facts, error) {
	found := facts{refused: refused}
	var policies criticalv2.CriticalServiceList
	if err := reader.List(ctx, &policies); err != nil {
		return found, fmt.Errorf("list CriticalServices: %w", err)
	}
	found.policies = policies.Items

	if !refused.slices {
		var slices discoveryv1.EndpointSliceList
		err := reader.List(ctx, &slices, client.InNamespace(namespace))
		if found.refused.slices = apierrors.IsForbidden(err); err != nil && !found.refused.slices {
			return found, fmt.Errorf("list EndpointSlices: %w", err)
		}
		found.slices = slices.Items
	}
	if !refused.pods {
		var pods corev1.PodList
		err := reader.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{criticalv2.LabelFallbackFor})
		if found.refused.pods = apierrors.IsForbidden(err); err != nil && !found.refused.pods {
			return found, fmt.Errorf("list fallback Pods: %w", err)
		}
		found.fallbacks = pods.Items
	}
	return found, nil
}

// notices say what the list lacks.
func (r refusals) notices() []string {
	var texts []string
	if r.slices {
		texts = append(texts, "You may not list EndpointSlices here: ready endpoints are not counted.")
	}
	if r.pods {
		texts = append(texts, "You may not list Pods here: a fallback Pod that a Service selects by its labels is counted as one of the application.")
	}
	return texts
}
