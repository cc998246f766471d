package monitoring

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/critical-service/operator/controllers/monitoring/internal/decide"
	"github.com/critical-service/operator/controllers/monitoring/internal/render"
)

// report logs what was done, and each problem once for as long as it stays the same.
func (r *Reconciler) report(ctx context.Context, plan decide.Plan, done outcome, unread problems) {
	log := ctrl.LoggerFrom(ctx)
	for _, object := range done.applied {
		log.Info("applied for monitoring", "object", nameOf(object))
	}
	for _, object := range done.removed {
		log.Info("removed from monitoring", "object", nameOf(object))
	}
	now := map[string]string{}
	for _, object := range plan.LeftAlone {
		name := nameOf(object)
		now[name] = manager(object)
		if r.reported[name] != now[name] {
			log.Info("leaving an object of monitoring alone, because it is not the operator's", "object", name, "managedBy", now[name])
			r.Emit(object, nil, corev1.EventTypeNormal, eventLeftAlone, "ApplyMonitoring",
				"The operator leaves this object alone, which is managed by %s. To have the operator's own, delete it", now[name])
		}
	}
	if ctx.Err() != nil {
		return // A stop has ended what was under way.
	}
	failed := maps.Clone(unread)
	maps.Copy(failed, done.failed)
	for _, about := range slices.Sorted(maps.Keys(failed)) {
		now[about] = failed[about].Error()
		if r.reported[about] != now[about] {
			log.Error(failed[about], "monitoring is not complete; retrying", "about", about, "every", r.period.String())
		}
	}
	r.reported = now
}

// manager names who keeps an object.
func manager(object *unstructured.Unstructured) string {
	if name := render.ManagerOf(object); name != "" {
		return fmt.Sprintf("%q", name)
	}
	return "no one by its label " + render.LabelManagedBy
}
