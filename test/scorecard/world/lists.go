package world

import (
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// OperatorsOwn names all that the operator has made in the test's namespace and that is still there.
func (w *World) OperatorsOwn(ctx context.Context) ([]string, error) {
	var found []string
	for _, kind := range []struct {
		label string
		list  client.ObjectList
	}{
		{discoveryv1.LabelManagedBy + "=" + criticalv2.ManagedBy, &discoveryv1.EndpointSliceList{}},
		{criticalv2.LabelResponder, &appsv1.DeploymentList{}},
		{criticalv2.LabelResponder, &corev1.ConfigMapList{}},
		{criticalv2.LabelResponder, &policyv1.PodDisruptionBudgetList{}},
		{criticalv2.LabelResponder, &corev1.PodList{}},
		{criticalv2.LabelFallbackFor, &corev1.PodList{}},
	} {
		names, err := w.Names(ctx, kind.list, kind.label)
		if err != nil {
			return nil, err
		}
		found = append(found, names...)
	}
	// A Pod may carry both labels.
	slices.Sort(found)
	return slices.Compact(found), nil
}

// Names lists the objects of a kind in the test's namespace that a selector chooses, each as "Kind name".
func (w *World) Names(ctx context.Context, list client.ObjectList, selector string) ([]string, error) {
	kind, err := w.kindOf(list)
	if err != nil {
		return nil, err
	}
	if err := w.List(ctx, list, client.InNamespace(w.Namespace), selecting(selector)); err != nil {
		return nil, fmt.Errorf("list what the operator made: %w", err)
	}
	var names []string
	err = meta.EachListItem(list, func(item runtime.Object) error {
		object, err := meta.Accessor(item)
		if err == nil {
			names = append(names, kind.Kind+" "+object.GetName())
		}
		return err
	})
	return names, err
}

// kindOf is the kind of the items of a list.
func (w *World) kindOf(list client.ObjectList) (schema.GroupVersionKind, error) {
	kind, err := w.GroupVersionKindFor(list)
	kind.Kind = strings.TrimSuffix(kind.Kind, "List")
	return kind, err
}
