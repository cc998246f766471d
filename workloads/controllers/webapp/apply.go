package webapp

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/decide"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// outcome is the result of a Plan. It lists only what really happened.
type outcome struct {
	// made are objects that were not there before. Deployed reports whether the Deployment was
	// written, and scaled whether its number of Pods was.
	made             []client.Object
	deployed, scaled bool
	// refusals are what the API server did not accept, and fallback what is known of the
	// ServiceFallback where it did not accept that.
	refusals map[decide.Subject]decide.Refusal
	fallback *fallback.Seen
}

// tell tells a Snapshot what was refused, and reports whether the status has to say something else
// than planned.
func (o *outcome) tell(snap *decide.Snapshot) bool {
	snap.Refusals = o.refusals
	if o.fallback != nil {
		snap.Fallback = *o.fallback
	}
	return len(o.refusals) > 0 || o.fallback != nil
}

// refused takes an error that only a person can remove for a fact to decide on. The first refusal of
// a subject is the cause of the others.
func (o *outcome) refused(subject decide.Subject, what string, err error) error {
	if !fault.IsRefusal(err) {
		return err
	}
	if _, has := o.refusals[subject]; !has {
		if o.refusals == nil {
			o.refusals = map[decide.Subject]decide.Refusal{}
		}
		o.refusals[subject] = decide.Refusal{Message: fmt.Sprintf("The API server refuses %s: %s", what,
			fault.Refusal(err, "Correct the spec, or have it allowed: limit range, Pod Security level, admission policy, permission."))}
	}
	return nil
}

// apply carries a Plan out, for the spec that is stored: a cache that is behind would roll out an earlier one. The failure of
// one part does not block another, but for a Service that is missing: it is made once its ServiceFallback is written, or
// refused.
func (r *Reconciler) apply(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan) (outcome, error) {
	var done outcome
	if plan.IsEmpty() {
		return done, nil
	}
	if err := read.Unchanged(ctx, r.live, workloadsv1.GroupVersion.WithResource("webapps").GroupResource(), snap.WebApp); err != nil {
		return done, err
	}
	unprotected := r.protect(ctx, snap, plan, &done)
	failures := []error{unprotected}
	if plan.Service != nil && (snap.Service != nil || unprotected == nil) {
		failures = append(failures, r.put(ctx, decide.OfApplication, plan.Service, read.UIDOf(snap.Service), &done))
	}
	if plan.Database != nil {
		failures = append(failures, r.put(ctx, decide.OfDatabase, plan.Database, read.UIDOf(snap.Database), &done))
	}
	if plan.Deployment != nil {
		failures = append(failures, r.put(ctx, decide.OfApplication, plan.Deployment, read.UIDOf(snap.Deployment), &done))
	}
	// One whose template is refused goes on as it is, and has to be enough.
	if plan.Scale != nil && !done.deployed {
		failures = append(failures, r.scale(ctx, snap, *plan.Scale, &done))
	}
	if plan.Budget != nil {
		failures = append(failures, r.put(ctx, decide.OfApplication, plan.Budget, read.UIDOf(snap.Budget), &done))
	}
	if plan.RemoveBudget != nil {
		err := client.IgnoreNotFound(write.Delete(ctx, r.client, plan.RemoveBudget))
		failures = append(failures, done.refused(decide.OfApplication, fmt.Sprintf("the deletion of PodDisruptionBudget %q", plan.RemoveBudget.Name), err))
	}
	return done, fault.Join(failures...)
}

// put applies an object: that which was seen, or one that does not exist yet.
func (r *Reconciler) put(ctx context.Context, subject decide.Subject, wanted client.Object, uid types.UID, done *outcome) error {
	_, err := write.Apply(ctx, r.client, wanted, uid)
	if err == nil && uid == "" {
		done.made = append(done.made, wanted)
	}
	if _, is := wanted.(*appsv1.Deployment); is {
		done.deployed = err == nil
	}
	return done.refused(subject, fmt.Sprintf("%s %q", wanted.GetObjectKind().GroupVersionKind().Kind, wanted.GetName()), err)
}

// protect writes the ServiceFallback.
func (r *Reconciler) protect(ctx context.Context, snap *decide.Snapshot, plan *decide.Plan, done *outcome) (err error) {
	done.fallback, err = snap.Fallback.Write(ctx, r.client, plan.Fallback)
	return err
}

// scale changes how many Pods there are, and nothing else, provided that nothing has changed since.
func (r *Reconciler) scale(ctx context.Context, snap *decide.Snapshot, replicas int32, done *outcome) error {
	// Numbers and strings always marshal.
	patch, _ := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": snap.Deployment.ResourceVersion, "uid": snap.Deployment.UID},
		"spec":     map[string]any{"replicas": replicas},
	})
	err := r.client.SubResource("scale").Patch(ctx, snap.Deployment.DeepCopy(), client.RawPatch(types.MergePatchType, patch),
		client.WithSubResourceBody(&autoscalingv1.Scale{}))
	done.scaled = err == nil
	return done.refused(decide.OfScale, fmt.Sprintf("%d Pods", replicas), err)
}
