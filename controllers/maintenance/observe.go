package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/protection"
)

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads what the watches delivered.
	cached client.Reader
	// scales reads the scale of a workload, which is not watched.
	scales client.SubResourceClientConstructor
	mapper meta.RESTMapper
	clock  clock.PassiveClock
}

// observe makes a Snapshot. What it takes to end a maintenance is read only when its
// end has come.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.clock.Now()}
	config := &corev1.ConfigMap{}
	if err := o.cached.Get(ctx, key, config); err != nil {
		return snap, client.IgnoreNotFound(err)
	}
	snap.Config = config
	m, invalid := criticalv2.ParseMaintenance(config.Data)
	if invalid != nil {
		var err error
		if m, err = criticalv2.ParseMaintenanceDebt(config.Name, config.Data); err != nil {
			return snap, nil // Decide says what is wrong with it.
		}
	}
	if !m.IsOver(snap.Now) {
		return snap, nil
	}
	if invalid == nil {
		var err error
		if snap.Answers, err = o.answers(ctx, types.NamespacedName{Namespace: key.Namespace, Name: m.Service}); err != nil {
			return snap, err
		}
	}
	if m.Workload == nil {
		return snap, nil
	}
	var err error
	if snap.OlderOwner, err = o.olderOwner(ctx, config, m.Workload); err != nil {
		return snap, err
	}
	err = o.scale(ctx, key.Namespace, m.Workload, &snap)
	return snap, err
}

// olderOwner is the name of a ConfigMap that owes a workload something, and was there
// before the given one.
func (o *observer) olderOwner(ctx context.Context, config *corev1.ConfigMap, w *criticalv2.MaintainedWorkload) (string, error) {
	var configs corev1.ConfigMapList
	if err := o.cached.List(ctx, &configs, client.InNamespace(config.Namespace),
		client.MatchingLabels{criticalv2.LabelResponder: criticalv2.ResponderMaintenance}, client.UnsafeDisableDeepCopy); err != nil {
		return "", err
	}
	for i := range configs.Items {
		other := &configs.Items[i]
		debt, err := criticalv2.ParseMaintenanceDebt(other.Name, other.Data)
		if err != nil || debt.Workload == nil || debt.Workload.String() != w.String() || other.Name != criticalv2.MaintenanceName(debt.Service) {
			continue
		}
		age := other.CreationTimestamp.Compare(config.CreationTimestamp.Time)
		if cmp.Or(age, strings.Compare(other.Name, config.Name)) < 0 {
			return other.Name, nil
		}
	}
	return "", nil
}

// answers reports whether the application of a Service answers: whether the Service
// has a ready endpoint of its own, by the rule of the operator.
func (o *observer) answers(ctx context.Context, key types.NamespacedName) (bool, error) {
	service := &corev1.Service{}
	if err := o.cached.Get(ctx, key, service); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	var slices discoveryv1.EndpointSliceList
	if err := o.cached.List(ctx, &slices, client.InNamespace(key.Namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: key.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	var pods corev1.PodList
	if err := o.cached.List(ctx, &pods, client.InNamespace(key.Namespace), client.HasLabels{criticalv2.LabelFallbackFor},
		client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	return len(protection.OwnReady(service, slices.Items, protection.OursAmong(pods.Items))) > 0, nil
}

// scaleKind is the form in which the scale of any workload is asked for.
var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scale reads how many replicas a workload is to have. That it is gone, or may not be
// read, is no error, but a fact to decide on.
func (o *observer) scale(ctx context.Context, namespace string, w *criticalv2.MaintainedWorkload, snap *decide.Snapshot) error {
	workload, err := o.workload(namespace, w)
	if meta.IsNoMatchError(err) {
		snap.Unreadable = fmt.Sprintf("this cluster knows no %s", w.Resource)
		return nil
	}
	if err != nil {
		return err
	}
	scale := &unstructured.Unstructured{}
	scale.SetGroupVersionKind(scaleKind)
	err = o.scales.SubResource("scale").Get(ctx, workload, scale)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case fault.Of(err) == fault.UserMustAct:
		snap.Unreadable = err.Error()
		return nil
	case err != nil:
		return err
	}
	replicas, _, err := unstructured.NestedInt64(scale.Object, "spec", "replicas")
	if err != nil {
		snap.Unreadable = fmt.Sprintf("the scale of %s has no spec.replicas: %v", w, err)
		return nil
	}
	snap.Scale = &decide.Scale{Replicas: int32(min(max(replicas, 0), math.MaxInt32)), Version: scale.GetResourceVersion()}
	return nil
}

// workload names an object of any kind.
func (o *observer) workload(namespace string, w *criticalv2.MaintainedWorkload) (*unstructured.Unstructured, error) {
	kind, err := o.mapper.KindFor(w.Resource.WithVersion(""))
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(namespace)
	object.SetName(w.Name)
	return object, nil
}
