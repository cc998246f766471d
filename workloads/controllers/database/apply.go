package database

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// outcome is the result of a Plan. It lists only what really happened.
type outcome struct {
	// created, removed and tried are Pods.
	created, removed, tried *corev1.Pod
	// generated is a Secret with a new password.
	generated *corev1.Secret
	// refusal is what the API server did not accept, and fallback what is known of the
	// ServiceFallback where it did not accept that.
	refusal  *decide.Refusal
	fallback *fallback.Seen
}

// tell tells a Snapshot what was refused, and reports whether the status has to say something
// else than planned.
func (o *outcome) tell(snap *decide.Snapshot) bool {
	snap.Refusal = o.refusal
	if o.fallback != nil {
		snap.Fallback = *o.fallback
	}
	return o.refusal != nil || o.fallback != nil
}

// allow is what to do about a refusal that is neither a quota's nor a failure.
const allow = "Correct the spec, or have it allowed: limit range, Pod Security level, admission policy, permission."

// refused takes an error that only a person can remove for a fact to decide on.
func (o *outcome) refused(what string, err error) error {
	return o.refusedWith(workloadsv1.ReasonCreateDenied, what, allow, err)
}

// refusedWith is refused with a reason and a remedy of its own. The first refusal is the cause of the
// others.
func (o *outcome) refusedWith(reason, what, remedy string, err error) error {
	if !fault.IsRefusal(err) {
		return err
	}
	if o.refusal == nil {
		o.refusal = &decide.Refusal{Reason: reason, Message: fmt.Sprintf("The API server refuses %s: %s", what, fault.Refusal(err, remedy))}
	}
	return nil
}

// apply carries a Plan out. What protects and exposes the Database does not wait for the
// rest, and the failure of one does not block the other, but for a Service that is missing: it
// is made once its ServiceFallback is written, or refused.
func (r *Reconciler) apply(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) (outcome, error) {
	var done outcome
	unprotected := r.protect(ctx, snap, plan, &done)
	failures := []error{unprotected}
	now := *snap
	done.tell(&now)
	if plan.Service != nil && (snap.Service != nil || unprotected == nil && !now.AwaitsAnswer()) {
		_, err := write.Apply(ctx, r.client, plan.Service, read.UIDOf(snap.Service))
		failures = append(failures, done.refused(fmt.Sprintf("Service %q", plan.Service.Name), err))
	}
	failures = append(failures, r.engine(ctx, snap, plan, &done))
	return done, fault.Join(failures...)
}

// protect writes the ServiceFallback.
func (r *Reconciler) protect(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) (err error) {
	done.fallback, err = snap.Fallback.Write(ctx, r.client, plan.Fallback)
	return err
}

// engine runs the engine and tries the next one out. What of it depends on the spec is done for the
// one that is stored: a cache that is behind would make a Pod of an earlier one, or take a trial for
// one of no use.
func (r *Reconciler) engine(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	if plan.ChangesPods() {
		if err := read.Unchanged(ctx, r.live, workloadsv1.GroupVersion.WithResource("databases").GroupResource(), snap.Database); err != nil {
			return err
		}
	}
	if err := r.run(ctx, snap, plan, done); err != nil {
		return err
	}
	return r.try(ctx, plan, done)
}

// run writes what the engine needs, each only after what it depends on: a claim without
// the Secret that opens its data would be of no use. What changes a claim may be refused, and
// nothing waits for it.
func (r *Reconciler) run(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	for _, step := range []func(context.Context, *decide.Snapshot, *decide.Plan, *outcome) error{r.generate, r.createClaim, r.noteImage, r.pod, r.changeClaim} {
		if err := step(ctx, snap, plan, done); err != nil || done.refusal != nil {
			return err
		}
	}
	return nil
}

// generate makes a password, which is never seen again but in its Secret. A Secret that
// exists is never changed: the create fails.
func (r *Reconciler) generate(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	if !plan.Generate {
		return nil
	}
	secret := render.Secret(snap.Database, rand.Text())
	err := write.Create(ctx, r.client, secret)
	if err == nil {
		done.generated = secret
	}
	return done.refused(fmt.Sprintf("Secret %q", secret.Name), err)
}

func (r *Reconciler) createClaim(ctx context.Context, _ *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	if plan.CreateClaim == nil {
		return nil
	}
	err := write.Create(ctx, r.client, plan.CreateClaim)
	return done.refused(fmt.Sprintf("PersistentVolumeClaim %q", plan.CreateClaim.Name), err)
}

// noteImage comes before the Pod, which does not go without it: the claim must say which image
// the data had.
func (r *Reconciler) noteImage(ctx context.Context, _ *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	if plan.NoteImage == nil {
		return nil
	}
	return r.patchClaim(ctx, plan.NoteImage, workloadsv1.ReasonCreateDenied, done)
}

func (r *Reconciler) changeClaim(ctx context.Context, _ *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	var failures []error
	for i := range plan.ChangeClaim {
		failures = append(failures, r.patchClaim(ctx, &plan.ChangeClaim[i], workloadsv1.ReasonStorageDenied, done))
	}
	return fault.Join(failures...)
}

func (r *Reconciler) patchClaim(ctx context.Context, change *decide.Change[*corev1.PersistentVolumeClaim], reason string, done *outcome) error {
	err := write.Patch(ctx, r.client, change.From, change.To.DeepCopy())
	return done.refusedWith(reason, fmt.Sprintf("%s of PersistentVolumeClaim %q", change.What, change.To.Name), change.Remedy, err)
}

func (r *Reconciler) pod(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) error {
	what := fmt.Sprintf("Pod %q", snap.Database.Name)
	switch {
	case plan.CreatePod != nil:
		err := write.Create(ctx, r.client, plan.CreatePod)
		if err == nil {
			done.created = plan.CreatePod
		}
		return done.refused(what, err)
	case plan.ChangePod != nil:
		return done.refused("a change of "+what, write.Patch(ctx, r.client, plan.ChangePod.From, plan.ChangePod.To))
	case plan.RemovePod != nil:
		return r.remove(ctx, snap, plan.RemovePod, done)
	default:
		return nil
	}
}

// remove takes a Pod away. A Pod that runs stays until the API server says that it would accept the next one.
func (r *Reconciler) remove(ctx context.Context, snap *decide.Snapshot, removal *decide.Removal, done *outcome) error {
	if err := r.keepsData(ctx, snap.Claim); err != nil {
		return err
	}
	if removal.Successor != nil {
		if err := r.accepts(ctx, removal.Successor, done); err != nil || done.refusal != nil {
			return err
		}
	}
	err := r.delete(ctx, removal)
	if err == nil {
		done.removed = removal.Pod
	}
	return done.refused(fmt.Sprintf("the deletion of Pod %q", removal.Pod.Name), err)
}

func (r *Reconciler) delete(ctx context.Context, removal *decide.Removal) error {
	if removal.Force {
		return write.DeleteNow(ctx, r.client, removal.Pod)
	}
	return write.Delete(ctx, r.client, removal.Pod)
}

// try makes a trial, if nothing was refused so far, or takes one away: also where something
// was, since it may be in the way.
func (r *Reconciler) try(ctx context.Context, plan *decide.Plan, done *outcome) error {
	if plan.RemoveTrial != nil {
		return done.refused(fmt.Sprintf("the deletion of Pod %q", plan.RemoveTrial.Pod.Name), r.delete(ctx, plan.RemoveTrial))
	}
	if plan.CreateTrial == nil || done.refusal != nil {
		return nil
	}
	trial, next := plan.CreateTrial.Pod, plan.CreateTrial.Successor
	if err := r.accepts(ctx, next, done); err != nil || done.refusal != nil {
		return err
	}
	err := write.Create(ctx, r.client, trial)
	if err == nil {
		done.tried = trial
	}
	what := fmt.Sprintf("Pod %q, in which the next Pod is tried out (to have Pod %q replaced without that, delete it)", trial.Name, next.Name)
	return done.refused(what, err)
}

// keepsData fails where the claim is being deleted: it waits for the Pod, and takes the data
// with it. The claim is nil where there is none.
func (r *Reconciler) keepsData(ctx context.Context, claim *corev1.PersistentVolumeClaim) error {
	if claim == nil {
		return nil
	}
	var now corev1.PersistentVolumeClaim
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(claim), &now); err != nil {
		return client.IgnoreNotFound(err)
	}
	if now.DeletionTimestamp != nil {
		return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), now.Name, errors.New("it is being deleted"))
	}
	return nil
}

// accepts asks the API server whether it would create a Pod in the place of the one that
// runs: that the name is in use is what it says last.
func (r *Reconciler) accepts(ctx context.Context, pod *corev1.Pod, done *outcome) error {
	err := write.DryRun(ctx, r.client, pod.DeepCopy())
	if apierrors.IsAlreadyExists(err) || fault.IsDryRunUnsupported(err) {
		return nil
	}
	what := fmt.Sprintf("Pod %q as the spec says now, so that the one that runs is kept (where only a quota is too small for both, delete it)", pod.Name)
	return done.refused(what, err)
}
