package maintenance

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
)

// news are the changes of a condition that are worth an event. Its note is the message of
// the condition, unless that says a time, by which events would not be counted.
var news = []struct {
	condition, reason string
	report            func(r *Reconciler, m *criticalv2.Maintenance, message string)
}{
	{criticalv2.MaintenanceRestored, criticalv2.RestoreFailed, func(r *Reconciler, m *criticalv2.Maintenance, message string) {
		r.Emit(m, nil, corev1.EventTypeWarning, eventRestoreFailed, "RestoreWorkload", "%.900s", message)
	}},
	{criticalv2.MaintenanceActive, criticalv2.MaintenanceEnded, func(r *Reconciler, m *criticalv2.Maintenance, _ string) {
		r.Emit(m, nil, corev1.EventTypeNormal, eventMaintenanceEnded, "EndMaintenance", "The maintenance is over")
	}},
	{criticalv2.MaintenanceActive, criticalv2.MaintenanceScheduleInvalid, func(r *Reconciler, m *criticalv2.Maintenance, message string) {
		r.Emit(m, nil, corev1.EventTypeWarning, eventScheduleInvalid, "ReadSchedule", "%.900s", message)
	}},
}

// report reports what was recorded, and what blocks the end.
func (r *Reconciler) report(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) {
	log, m := ctrl.LoggerFrom(ctx), snap.Maintenance
	if plan.Lost != "" {
		log.Info("a Maintenance was deleted, and what it owes could not be given back", "reason", plan.Lost)
		r.Emit(m, nil, corev1.EventTypeWarning, eventRestoreFailed, "RestoreWorkload", "%.900s", plan.Lost)
	}
	for _, n := range news {
		if message, is := changedTo(m.Status.Conditions, plan.Status.Conditions, n.condition, n.reason); is {
			log.Info(message, "condition", n.condition, "reason", n.reason)
			n.report(r, m, message)
		}
	}
}

// changedTo reports whether a condition has a reason that it had not before, and what it
// says.
func changedTo(before, now []metav1.Condition, kind, reason string) (message string, is bool) {
	old, current := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(now, kind)
	if current == nil || current.Reason != reason || old != nil && old.Reason == reason {
		return "", false
	}
	return current.Message, true
}
