package appconfig

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
)

// report reports what was written, and what blocks the rest once that is recorded.
func (r *Reconciler) report(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) {
	log, app := ctrl.LoggerFrom(ctx), snap.AppConfig
	for _, name := range done.created {
		log.Info("created a ConfigMap with the settings", "configMap", name)
		r.Emit(app, nil, corev1.EventTypeNormal, eventConfigMapCreated, "CreateConfigMap", "Created ConfigMap %s with the settings", name)
	}
	for _, workload := range done.rolled {
		log.Info("a workload takes another ConfigMap", "kind", workload.Kind, "workload", workload.Name, "configMap", plan.Status.ConfigMapName)
		r.Emit(app, workload.Reference(), corev1.EventTypeNormal, eventWorkloadUpdated, "UpdateWorkload",
			"%s %s takes the settings from ConfigMap %s", workload.Kind, workload.Name, plan.Status.ConfigMapName)
	}
	for _, name := range done.deleted {
		log.Info("deleted a ConfigMap that nothing uses", "configMap", name)
	}
	if ready := meta.FindStatusCondition(plan.Status.Conditions, workloadsv2.ConditionReady); done.recorded && isBad(app.Status.Conditions, ready) {
		log.Info(ready.Message, "reason", ready.Reason)
		r.Emit(app, nil, corev1.EventTypeWarning, ready.Reason, "KeepConfigMap", "%.900s", ready.Message)
	}
}

// isBad reports whether Ready has become False for a reason that it had not before.
func isBad(before []metav1.Condition, ready *metav1.Condition) bool {
	was := meta.FindStatusCondition(before, ready.Type)
	return ready.Status == metav1.ConditionFalse && (was == nil || was.Reason != ready.Reason)
}
