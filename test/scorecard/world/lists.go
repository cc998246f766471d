package world

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// OperatorsOwn names all that the operator has made in the test's namespace and that is still there.
func (w *World) OperatorsOwn(ctx context.Context) ([]string, error) {
	var found []string
	for _, kind := range []struct {
		name, label string
		list        client.ObjectList
	}{
		{"EndpointSlice", discoveryv1.LabelManagedBy + "=" + criticalv2.ManagedBy, &discoveryv1.EndpointSliceList{}},
		{"Deployment", criticalv2.LabelResponder, &appsv1.DeploymentList{}},
		{"ConfigMap", criticalv2.LabelResponder, &corev1.ConfigMapList{}},
		{"PodDisruptionBudget", criticalv2.LabelResponder, &policyv1.PodDisruptionBudgetList{}},
		{"Pod", criticalv2.LabelResponder, &corev1.PodList{}},
		{"Pod", criticalv2.LabelFallbackFor, &corev1.PodList{}},
	} {
		names, err := w.names(ctx, kind.name, kind.list, kind.label)
		if err != nil {
			return nil, err
		}
		found = append(found, names...)
	}
	// A Pod may carry both labels.
	slices.Sort(found)
	return slices.Compact(found), nil
}

func (w *World) names(ctx context.Context, kind string, list client.ObjectList, selector string) ([]string, error) {
	if err := w.List(ctx, list, client.InNamespace(w.Namespace), selecting(selector)); err != nil {
		return nil, fmt.Errorf("list what the operator made: %w", err)
	}
	var names []string
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			names = append(names, kind+" "+object.GetName())
		}
		return err
	})
	return names, err
}
