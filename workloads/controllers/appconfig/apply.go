package appconfig

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/appconfig/internal/render"
)

// outcome is the result of a plan. It lists only what really happened.
type outcome struct {
	// created and deleted are names of ConfigMaps.
	created, deleted []string
	// rolled are the workloads that take another ConfigMap.
	rolled []decide.Workload
	// held are the workloads whose field another manager has, though the cache does not say so.
	held []types.UID
	// recorded reports whether the status was written.
	recorded bool
}

// apply carries a plan out: first what workloads need, then the workloads, and what nothing
// needs goes last. The failure of one workload does not block the others.
func (r *Reconciler) apply(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) (outcome, error) {
	var done outcome
	if !plan.Writes() {
		return done, nil
	}
	app, err := r.confirm(ctx, snap)
	if err != nil {
		return done, err
	}
	if err := r.write(ctx, app, plan, &done); err != nil {
		return done, err
	}
	var failures []error
	for _, update := range plan.Update {
		failures = append(failures, write.Merge(ctx, r.client, update.From, update.To))
	}
	for _, workload := range plan.Roll {
		// Not forced: another manager may have set the field since the cache was filled.
		err := r.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(workload.Taking(plan.Status.ConfigMapName)))
		switch {
		case err == nil:
			done.rolled = append(done.rolled, workload)
		case apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
			done.held = append(done.held, workload.UID)
		default:
			failures = append(failures, err)
		}
	}
	if err := fault.Join(failures...); err != nil {
		return done, err
	}
	for _, config := range plan.Delete {
		err := write.Delete(ctx, r.client, config)
		if err == nil {
			done.deleted = append(done.deleted, config.Name)
		}
		failures = append(failures, err)
	}
	return done, fault.Join(failures...)
}

// confirm reads the AppConfig that a plan was made of, with its settings, which no cache has. A cache may begin with an old
// list: workloads would take again what they no longer are to take.
func (r *Reconciler) confirm(ctx context.Context, snap *decide.Snapshot) (*workloadsv2.AppConfig, error) {
	app := &workloadsv2.AppConfig{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(snap.AppConfig), app); err != nil {
		return nil, err
	}
	if app.UID != snap.AppConfig.UID || app.Generation != snap.AppConfig.Generation ||
		app.Labels[criticalv2.LabelResponder] != snap.AppConfig.Labels[criticalv2.LabelResponder] {
		return nil, fault.WaitFor(fault.CacheBehind, fmt.Sprintf("AppConfig %q is another than the cache has", app.Name))
	}
	return app, nil
}

// write writes the ConfigMaps that hold settings.
func (r *Reconciler) write(ctx context.Context, app *workloadsv2.AppConfig, plan *decide.Plan, done *outcome) error {
	if plan.Create > 0 {
		revision := render.Revision(app, plan.Create)
		render.Own(revision, app, plan.Takers)
		if err := write.Create(ctx, r.client, revision); err != nil {
			return err
		}
		done.created = append(done.created, revision.Name)
	}
	if plan.WritePage {
		return r.writePage(ctx, app)
	}
	return nil
}

// writePage lets the ConfigMap for a page have exactly the settings.
func (r *Reconciler) writePage(ctx context.Context, app *workloadsv2.AppConfig) error {
	wanted := render.Page(app)
	existing, err := read.Existing[corev1.ConfigMap](ctx, r.live, client.ObjectKeyFromObject(wanted))
	switch {
	case err != nil:
		return err
	case existing == nil:
		return write.Create(ctx, r.client, wanted)
	case !render.IsOurs(existing, app):
		return fault.WaitFor(fault.CacheBehind, fmt.Sprintf("ConfigMap %q was made by another user meanwhile", wanted.Name))
	}
	changed := existing.DeepCopy()
	changed.Data, changed.BinaryData = wanted.Data, nil
	return write.Patch(ctx, r.client, existing, changed)
}

// record writes the status.
func (r *Reconciler) record(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	updated := snap.AppConfig.DeepCopy()
	updated.Status = plan.Status
	var err error
	done.recorded, err = write.Status(ctx, r.client, snap.AppConfig, updated)
	return err
}
