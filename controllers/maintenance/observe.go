package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/protection"
)

// observer makes Snapshots. It is the only place that reads.
type observer struct {
	// cached reads what the watches delivered.
	cached client.Reader
	// asked is asked who the operator is, what it may do, and for the scale of a workload,
	// which is not watched.
	asked client.Client
	clock clock.PassiveClock
	// name is the name by which the API server knows the operator, once it was asked.
	name atomic.Pointer[string]
}

// observe makes a Snapshot. What it takes to restore a workload is read only when it
// matters.
func (o *observer) observe(ctx context.Context, key types.NamespacedName) (decide.Snapshot, error) {
	snap := decide.Snapshot{Now: o.clock.Now()}
	m, err := read.Existing[criticalv2.Maintenance](ctx, o.cached, key)
	if err != nil || m == nil {
		return snap, err
	}
	snap.Maintenance, snap.Operator = m, o.operator(ctx)
	needs := decide.NeedsOf(m, snap.Now)
	if needs.Answers {
		if snap.Answers, err = o.answer(ctx, m); err != nil {
			return snap, err
		}
	}
	if needs.Workload {
		snap.Workload, err = o.workload(ctx, m)
	}
	return snap, err
}

// operator is the name by which the API server knows the operator; empty while that
// cannot be found out.
func (o *observer) operator(ctx context.Context) string {
	if name := o.name.Load(); name != nil {
		return *name
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := o.asked.Create(ctx, review); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "the API server did not say who the operator is: users cannot permit it to restore workloads")
		return ""
	}
	o.name.Store(&review.Status.UserInfo.Username)
	return review.Status.UserInfo.Username
}

// answer reports whether the application of every Service answers: whether the Service has
// a ready endpoint of its own, by the rule of the operator. A Service that does not exist
// is not waited for.
func (o *observer) answer(ctx context.Context, m *criticalv2.Maintenance) (bool, error) {
	var pods corev1.PodList
	if err := o.cached.List(ctx, &pods, client.InNamespace(m.Namespace), client.HasLabels{criticalv2.LabelFallbackFor},
		client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	ours := protection.OursAmong(pods.Items)
	for _, name := range m.Spec.Services {
		service, err := read.Existing[corev1.Service](ctx, o.cached, types.NamespacedName{Namespace: m.Namespace, Name: name})
		if err != nil {
			return false, err
		}
		if service == nil {
			continue
		}
		var slices discoveryv1.EndpointSliceList
		if err := o.cached.List(ctx, &slices, client.InNamespace(m.Namespace),
			client.MatchingFields{protection.IndexServiceOfSlice: name}, client.UnsafeDisableDeepCopy); err != nil {
			return false, err
		}
		if len(protection.OwnReady(service, slices.Items, ours)) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// workload sees what is to be restored, if the operator is permitted to restore it for
// this Maintenance: the right to scale the workload may be meant for another one.
func (o *observer) workload(ctx context.Context, m *criticalv2.Maintenance) (decide.Workload, error) {
	owed := cmp.Or(m.Status.Owed, m.Spec.Restore)
	for _, right := range []authorizationv1.ResourceAttributes{
		{Group: criticalv2.GroupVersion.Group, Resource: "maintenances", Verb: criticalv2.VerbRestore, Name: criticalv2.RestoreName(m.Name, owed)},
		{Group: appsv1.GroupName, Resource: owed.Resource(), Subresource: "scale", Verb: "patch", Name: owed.Name()},
	} {
		right.Namespace = m.Namespace
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
		if err := o.asked.Create(ctx, review); err != nil {
			return refused(fmt.Errorf("ask the API server for the verb %s: %w", right.Verb, err))
		}
		if !review.Status.Allowed {
			return decide.Workload{Refused: fmt.Sprintf("no Role gives it the verb %q on %s %q", right.Verb, right.Resource, right.Name)}, nil
		}
	}
	var scale autoscalingv1.Scale
	err := o.asked.SubResource("scale").Get(ctx, workload(m.Namespace, owed), &scale)
	if apierrors.IsNotFound(err) {
		return decide.Workload{}, nil
	}
	if err != nil {
		return refused(err)
	}
	return decide.Workload{Scale: &decide.Scale{Replicas: scale.Spec.Replicas, Version: scale.ResourceVersion}}, nil
}

// refused takes an error that only a user can remove for a fact to decide on.
func refused(err error) (decide.Workload, error) {
	if fault.Of(err) == fault.UserMustAct {
		return decide.Workload{Refused: fmt.Sprintf("%.500s", err.Error())}, nil
	}
	return decide.Workload{}, err
}

// workload names the object that is scaled.
func workload(namespace string, w *criticalv2.WorkloadReplicas) client.Object {
	about := metav1.ObjectMeta{Namespace: namespace, Name: w.Name()}
	if w.StatefulSet != "" {
		return &appsv1.StatefulSet{ObjectMeta: about}
	}
	return &appsv1.Deployment{ObjectMeta: about}
}
