package maintenance

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
)

// report reports what was done, and what blocks the end.
func (r *Reconciler) report(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan, done outcome) {
	log := ctrl.LoggerFrom(ctx)
	if snap.Config == nil {
		r.lastReported.Delete(key)
		return
	}
	if done.restored {
		w := plan.Maintenance.Workload
		log.Info("restored the replicas of a workload", "workload", w.String(), "replicas", w.Replicas)
		r.Emit(r.service(ctx, key.Namespace, plan), snap.Config, corev1.EventTypeNormal, eventWorkloadRestored, "RestoreWorkload",
			"The maintenance is over: gave %s its %d replicas back", w, w.Replicas)
	}
	if done.deleted {
		log.Info("ended the maintenance", "service", plan.Maintenance.Service)
		r.lastReported.Delete(key)
		r.Emit(r.service(ctx, key.Namespace, plan), snap.Config, corev1.EventTypeNormal, eventMaintenanceEnded, "EndMaintenance",
			"The maintenance is over: deleted ConfigMap %q", snap.Config.Name)
	}
	if !r.isNews(key, plan.Invalid+plan.Stuck) {
		return
	}
	if plan.Invalid != "" {
		log.Info("a ConfigMap announces no maintenance, because it is invalid", "reason", plan.Invalid)
		r.Emit(snap.Config, nil, corev1.EventTypeWarning, eventMaintenanceInvalid, "ReadMaintenance",
			"No maintenance is announced, because this ConfigMap is invalid: %s%s",
			plan.Invalid, owed(plan.Maintenance))
	}
	if plan.Stuck != "" {
		log.Info("the maintenance cannot be ended", "reason", plan.Stuck)
		r.Emit(snap.Config, nil, corev1.EventTypeWarning, eventMaintenanceStuck, "EndMaintenance",
			"The maintenance is over, and the operator cannot end it: %.600s. `kubectl critsvc maintenance off svc/%s -n %s` ends it",
			plan.Stuck, plan.Maintenance.Service, key.Namespace)
	}
}

// isNews reports whether a problem differs from the one reported last, and remembers it.
func (r *Reconciler) isNews(key types.NamespacedName, problem string) bool {
	last := r.lastReported.Get(key)
	if problem == "" {
		r.lastReported.Delete(key)
		return false
	}
	r.lastReported.Set(key, problem)
	return last == nil || *last != problem
}

// owed says what becomes of the debt of an invalid ConfigMap.
func owed(m *criticalv2.Maintenance) string {
	switch {
	case m == nil:
		return ""
	case m.Until == nil:
		return fmt.Sprintf(". %.300s gets its %d replicas back by `kubectl critsvc maintenance off` only", m.Workload, m.Workload.Replicas)
	default:
		return fmt.Sprintf(". %.300s gets its %d replicas back at %s all the same", m.Workload, m.Workload.Replicas, m.Until.UTC().Format(time.RFC3339))
	}
}

// service is the Service that a maintenance was about; where it is gone, its name.
func (r *Reconciler) service(ctx context.Context, namespace string, plan decide.Plan) runtime.Object {
	service := &corev1.Service{}
	name := types.NamespacedName{Namespace: namespace, Name: plan.Maintenance.Service}
	if err := r.cached.Get(ctx, name, service); err != nil {
		return &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: name.Namespace, Name: name.Name}
	}
	return service
}
