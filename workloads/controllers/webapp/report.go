package webapp

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
)

// record writes the status where it differs.
func (r *Reconciler) record(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) error {
	updated := snap.WebApp.DeepCopy()
	updated.Status = plan.Status
	_, err := write.Status(ctx, r.client, snap.WebApp, updated)
	return err
}

// did reports what was written.
func (r *Reconciler) did(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) {
	log, a := ctrl.LoggerFrom(ctx), snap.WebApp
	for _, object := range done.made {
		kind := object.GetObjectKind().GroupVersionKind().Kind
		log.Info("created an object", "kind", kind, "object", object.GetName())
		r.Emit(a, nil, corev1.EventTypeNormal, eventCreated, "RunWebApp", "Created %s %s", kind, object.GetName())
	}
	if done.scaled {
		log.Info("scaled by the traffic", "replicas", *plan.Scale, "requestsPerSecond", plan.Status.RequestsPerSecond)
		r.Emit(a, nil, corev1.EventTypeNormal, eventScaled, "ScaleWebApp", "There are %d Pods from now on, for %s requests per second", *plan.Scale, plan.Status.RequestsPerSecond)
	}
}

// passing are the reasons that need no one.
var passing = []string{
	workloadsv1.ReasonStarting, workloadsv1.ReasonReplacing, workloadsv1.ReasonDatabasePending, workloadsv1.ReasonTrafficKnown, workloadsv1.ReasonNoDatabase,
}

// report reports how the WebApp stands, where that is news. What is said of its database is said on
// the Database, but for what only the WebApp knows.
func (r *Reconciler) report(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) {
	for _, kind := range []string{workloadsv1.ConditionReady, workloadsv1.ConditionScalingActive, workloadsv1.ConditionDatabaseReady} {
		before := meta.FindStatusCondition(snap.WebApp.Status.Conditions, kind)
		now := meta.FindStatusCondition(plan.Status.Conditions, kind)
		if now == nil || before != nil && before.Reason == now.Reason || slices.Contains(passing, now.Reason) {
			continue
		}
		severity := corev1.EventTypeWarning
		if now.Status == metav1.ConditionTrue || now.Reason == workloadsv1.ReasonSuspended {
			severity = corev1.EventTypeNormal
		}
		ctrl.LoggerFrom(ctx).Info(now.Message, "condition", kind, "reason", now.Reason)
		r.Emit(snap.WebApp, nil, severity, now.Reason, "RunWebApp", "%.900s", now.Message)
	}
}
