package etcdinstance

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/certificate"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/decide"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// outcome is the result of a Plan. It lists only what really happened.
type outcome struct {
	// certificates are the Secrets with new ones.
	certificates []string
	changed      *decide.Change
	removed      *corev1.Pod
	// untaken is why etcd did not take a change; empty if it did.
	untaken string
	// refusal is what the API server did not accept, and fallback what is known of the
	// ServiceFallback where it did not accept that.
	refusal  *decide.Refusal
	fallback *fallback.Seen
}

// tell tells a Snapshot what was refused, and reports whether the status has to say something
// else than planned.
func (o *outcome) tell(snap *decide.Snapshot) bool {
	snap.Refusal, snap.Untaken = o.refusal, o.untaken
	if o.fallback != nil {
		snap.Fallback = *o.fallback
	}
	return o.refusal != nil || o.fallback != nil || o.untaken != ""
}

// allow is what to do about a refusal that is neither a quota's nor a failure.
const allow = "Correct the spec, or have it allowed: limit range, Pod Security level, admission policy, permission."

// refused takes an error that only a person can remove for a fact to decide on. The first refusal
// is the cause of the others.
func (o *outcome) refused(what string, err error) error {
	if !fault.IsRefusal(err) {
		return err
	}
	if o.refusal == nil {
		o.refusal = &decide.Refusal{Reason: workloadsv1.ReasonCreateDenied, Message: fmt.Sprintf("The API server refuses %s: %s", what, fault.Refusal(err, allow))}
	}
	return nil
}

// apply carries a Plan out, for the spec that is stored: a cache that is behind would scale, roll out or change members by
// an earlier one.
// What protects and exposes the ETCDInstance does not wait for the rest.
func (r *Reconciler) apply(ctx context.Context, snap *sight, plan *decide.Plan) (outcome, error) {
	var done outcome
	if plan.IsEmpty() {
		return done, nil
	}
	if err := read.Unchanged(ctx, r.live, workloadsv1alpha1.GroupVersion.WithResource("etcdinstances").GroupResource(), snap.Instance); err != nil {
		return done, err
	}
	unprotected := r.protect(ctx, &snap.Snapshot, plan, &done)
	failures := []error{unprotected}
	now := snap.Snapshot
	done.tell(&now)
	for _, service := range plan.Services {
		has := snap.Peers
		if service.Name == snap.Instance.Name {
			has = snap.Service
			if has == nil && (unprotected != nil || now.AwaitsAnswer()) {
				continue
			}
		}
		_, err := write.Apply(ctx, r.client, service, read.UIDOf(has))
		failures = append(failures, done.refused(fmt.Sprintf("Service %q", service.Name), err))
	}
	failures = append(failures, r.run(ctx, snap, plan, &done))
	return done, fault.Join(failures...)
}

// protect writes the ServiceFallback.
func (r *Reconciler) protect(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) (err error) {
	done.fallback, err = snap.Fallback.Write(ctx, r.client, plan.Fallback)
	return err
}

// run writes what the members need, each only after what it depends on, and then takes the one
// step of the cluster.
func (r *Reconciler) run(ctx context.Context, snap *sight, plan *decide.Plan, done *outcome) error {
	for _, step := range []func(context.Context, *sight, *decide.Plan, *outcome) error{r.certify, r.moveSnapshots, r.confirm, r.config, r.budget, r.statefulSet, r.change, r.remove} {
		if err := step(ctx, snap, plan, done); err != nil || done.refusal != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) budget(ctx context.Context, snap *sight, plan *decide.Plan, done *outcome) error {
	if plan.Budget == nil {
		return nil
	}
	_, err := write.Apply(ctx, r.client, plan.Budget, read.UIDOf(snap.Budget))
	return done.refused(fmt.Sprintf("PodDisruptionBudget %q", plan.Budget.Name), err)
}

// certify makes certificates. The authority, which comes first, signs the others.
func (r *Reconciler) certify(ctx context.Context, snap *sight, plan *decide.Plan, done *outcome) error {
	e := snap.Instance
	for _, name := range plan.Certificates {
		var made certificate.Data
		var err error
		if name == e.AuthoritySecretName() {
			if made, err = certificate.NewAuthority(name, snap.Now); err == nil {
				snap.certificates[name] = made
			}
		} else {
			made, err = snap.certificates[e.AuthoritySecretName()].Sign(render.Leaves(e)[name], snap.Now)
		}
		if err != nil {
			return fmt.Errorf("make the certificate of Secret %q: %w", name, err)
		}
		secret := render.Secret(e, name, made)
		if snap.Secrets[name].Found {
			var has corev1.Secret
			if err := r.live.Get(ctx, client.ObjectKeyFromObject(secret), &has); err != nil {
				return err
			}
			renewed := has.DeepCopy()
			renewed.Data = secret.Data
			err = write.Patch(ctx, r.client, &has, renewed)
		} else {
			err = write.Create(ctx, r.client, secret)
		}
		if err == nil {
			done.certificates = append(done.certificates, name)
		}
		if err = done.refused(fmt.Sprintf("Secret %q", name), err); err != nil || done.refusal != nil {
			return err
		}
	}
	return nil
}

// moveSnapshots makes what stores or restores a snapshot. What exists already, and was not in the cache,
// is seen next time.
func (r *Reconciler) moveSnapshots(ctx context.Context, _ *sight, plan *decide.Plan, done *outcome) error {
	if plan.DropPod != nil {
		if err := client.IgnoreNotFound(write.Delete(ctx, r.client, plan.DropPod)); err != nil {
			return done.refused(fmt.Sprintf("the deletion of Pod %q", plan.DropPod.Name), err)
		}
	}
	if plan.Claim != nil {
		if err := write.Create(ctx, r.client, plan.Claim); err != nil && !apierrors.IsAlreadyExists(err) {
			return done.refused(fmt.Sprintf("PersistentVolumeClaim %q", plan.Claim.Name), err)
		}
	}
	if plan.SnapshotPod != nil {
		if err := write.Create(ctx, r.client, plan.SnapshotPod); err != nil && !apierrors.IsAlreadyExists(err) {
			return done.refused(fmt.Sprintf("Pod %q", plan.SnapshotPod.Name), err)
		}
	}
	return nil
}

// finalize adds or removes the finalizer. The cache does not know those of others, so that the object
// is read as it is.
func (r *Reconciler) finalize(ctx context.Context, snap *decide.Snapshot, change func(client.Object, string) bool) error {
	var now workloadsv1alpha1.ETCDInstance
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(snap.Instance), &now); err != nil {
		return client.IgnoreNotFound(err)
	}
	before := now.DeepCopy()
	if now.UID != snap.Instance.UID || now.Generation != snap.Instance.Generation || !change(&now, workloadsv1alpha1.Finalizer) {
		return nil // The change of the object brings the next Snapshot.
	}
	return write.Patch(ctx, r.client, before, &now)
}

// confirm waits where the entries that were decided on are not those that are stored: by a cache that is late, the Pod of a
// member would go that has got its vote since then.
func (r *Reconciler) confirm(ctx context.Context, snap *sight, plan *decide.Plan, _ *outcome) error {
	noted := snap.Noted()
	if noted == nil || !plan.FollowsEntries() {
		return nil
	}
	now := noted.DeepCopyObject().(client.Object)
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(noted), now); err != nil {
		return err
	}
	if now.GetResourceVersion() != noted.GetResourceVersion() {
		return fault.WaitFor(fault.CacheBehind, fmt.Sprintf("%T %q has changed, and the cache does not show it yet", noted, noted.GetName()))
	}
	return nil
}

func (r *Reconciler) config(ctx context.Context, snap *sight, plan *decide.Plan, done *outcome) error {
	if plan.Config == nil {
		return nil
	}
	_, err := write.Apply(ctx, r.client, plan.Config, read.UIDOf(snap.Config))
	return done.refused(fmt.Sprintf("ConfigMap %q", plan.Config.Name), err)
}

func (r *Reconciler) statefulSet(ctx context.Context, snap *sight, plan *decide.Plan, done *outcome) error {
	if plan.StatefulSet == nil {
		return nil
	}
	_, err := write.Apply(ctx, r.client, plan.StatefulSet, read.UIDOf(snap.StatefulSet))
	return done.refused(fmt.Sprintf("StatefulSet %q", plan.StatefulSet.Name), err)
}

// change changes the cluster. What etcd does not take, as while it elects a leader or waits for a member, is sent again.
func (r *Reconciler) change(ctx context.Context, snap *sight, plan *decide.Plan, done *outcome) error {
	if plan.Change == nil {
		return nil
	}
	if err := r.etcd.Change(ctx, snap.voters(), plan.Change); err != nil {
		done.untaken = fmt.Sprintf("%.200s", err)
		return nil
	}
	done.changed = plan.Change
	return nil
}

// remove takes a Pod away.
func (r *Reconciler) remove(ctx context.Context, _ *sight, plan *decide.Plan, done *outcome) error {
	if plan.RemovePod == nil {
		return nil
	}
	takeAway := write.Delete
	if plan.RemovePod.Force {
		takeAway = write.DeleteNow
	}
	err := takeAway(ctx, r.client, plan.RemovePod.Pod)
	if err == nil {
		done.removed = plan.RemovePod.Pod
	}
	return done.refused(fmt.Sprintf("the deletion of Pod %q", plan.RemovePod.Pod.Name), err)
}
