package provision

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
)

// outcome is what came of a plan. It lists only what really happened.
type outcome struct {
	retracted   []*discoveryv1.EndpointSlice
	unpublished []*discoveryv1.EndpointSlice
	created     *corev1.Pod
	rebound     []*corev1.Pod
	released    []decide.Removal
	deleted     []decide.Removal
	// denied is true if the API server did not accept the Pod.
	denied bool
	// asked is true if the API server answered to the create of a Pod.
	asked bool
}

// slicesBehind is when to check again where the EndpointSlices do not show yet which Pods there are. It ends sooner by
// itself: what is late wakes the Service when it comes.
const slicesBehind = 30 * time.Second

// apply carries out what protect does not. What adds comes before what takes away, and
// the failure of one write does not block the others.
func (r *Reconciler) apply(ctx context.Context, key types.NamespacedName, snap *decide.Snapshot, plan decide.Plan) (outcome, error) {
	var done outcome
	var failures []error
	for _, pod := range plan.Rebind {
		if err := r.relabel(ctx, pod); err != nil {
			failures = append(failures, err)
			continue
		}
		done.rebound = append(done.rebound, pod)
	}
	if plan.Create != nil {
		failures = append(failures, r.create(ctx, snap, plan.Create, &done))
	}
	if plan.DryRun != nil {
		failures = append(failures, r.dryRun(ctx, snap, plan.DryRun, &done))
	}
	others, err := r.unpublishOrphans(ctx, plan.Unpublish, &done)
	failures = append(failures, err)
	plan.Unpublish = others
	if withdraws(plan) {
		failures = append(failures, r.withdraw(ctx, key, plan, &done))
	}
	return done, fault.Join(failures...)
}

// relabel writes a Pod's labels, annotations and owners as they must become.
func (r *Reconciler) relabel(ctx context.Context, to *corev1.Pod) error {
	from := &corev1.Pod{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(to), from); err != nil {
		return err
	}
	if from.UID != to.UID || from.ResourceVersion != to.ResourceVersion {
		return fault.WaitFor(fault.CacheBehind, fmt.Sprintf("fallback Pod %q changed meanwhile", to.Name))
	}
	return write.Patch(ctx, r.Client, from, render.Relabelled(from, to))
}

// create makes the fallback Pod. A refusal is not an error: it is the API
// server's answer, is remembered as such, and the next plan takes it from there.
func (r *Reconciler) create(ctx context.Context, snap *decide.Snapshot, pod *corev1.Pod, done *outcome) error {
	err := r.creates.run(ctx, func(ctx context.Context) error { return write.Create(ctx, r.Client, pod.DeepCopy()) })
	isThere := apierrors.IsAlreadyExists(err)
	if err = r.unlessOurs(ctx, pod, err); err == nil && isThere && wasMade(snap, pod) {
		return fault.WaitFor(fault.CacheBehind, fmt.Sprintf("fallback Pod %q was made and is not in the cache yet", pod.Name))
	}
	if done.asked = r.record(snap, pod, false, err); !done.asked {
		return err
	}
	switch {
	case err == nil:
		done.created = pod
	case fault.Of(err) != fault.Gone:
		done.denied = true
	}
	return nil
}

// wasMade reports whether the API server's last answer was that it made this very Pod.
func wasMade(snap *decide.Snapshot, pod *corev1.Pod) bool {
	last := snap.AttemptFor(pod)
	return last != nil && !last.DryRun && last.Refusals == 0
}

// dryRun asks the API server whether it would accept a fallback Pod.
func (r *Reconciler) dryRun(ctx context.Context, snap *decide.Snapshot, pod *corev1.Pod, done *outcome) error {
	err := r.dryRuns.run(ctx, func(ctx context.Context) error { return write.DryRun(ctx, r.Client, pod.DeepCopy()) })
	err = r.unlessOurs(ctx, pod, err)
	if fault.IsDryRunUnsupported(err) {
		err = nil // It stays unknown until the outage, which is no reason for alarm.
	}
	if done.asked = r.record(snap, pod, true, err); !done.asked {
		return err
	}
	return nil
}

// unlessOurs is the answer to a create, where the Pod that holds the name is no fallback that the cache is about to show: its
// event comes late, or the answer to an earlier create was lost, and no user is to be asked to delete it.
func (r *Reconciler) unlessOurs(ctx context.Context, pod *corev1.Pod, err error) error {
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	holder, failure := read.Existing[corev1.Pod](ctx, r.Live, client.ObjectKeyFromObject(pod))
	isOurs := holder != nil && protection.IsFallback(holder) && holder.DeletionTimestamp == nil
	switch {
	case failure != nil:
		return failure
	case holder == nil:
		return fault.WaitFor(fault.CacheBehind, fmt.Sprintf("Pod %q, which held the name, is gone", pod.Name))
	case isOurs && holder.Labels[criticalv2.LabelFallbackFor] == pod.Labels[criticalv2.LabelFallbackFor]:
		return nil
	default:
		return err
	}
}

// record remembers the API server's answer to a create, and reports whether it was
// one: a connection that broke, or a request to come back later, is none.
func (r *Reconciler) record(snap *decide.Snapshot, pod *corev1.Pod, dryRun bool, err error) bool {
	attempt := decide.Attempt{Hash: render.Hash(pod), At: r.Clock.Now(), DryRun: dryRun}
	if last := snap.AttemptFor(pod); last != nil && last.DryRun == dryRun {
		attempt.Refusals = last.Refusals
	}
	switch {
	case err == nil:
		attempt.Refusals = 0
	case apierrors.IsAlreadyExists(err):
		attempt.Refusals++
		attempt.Reason = criticalv2.ReasonNameTaken
		attempt.Message = fmt.Sprintf("A Pod %q that is not a fallback holds the name: delete or rename it, or set POD_NAME_PREFIX.", pod.Name)
	case fault.IsRefusal(err):
		attempt.Refusals++
		attempt.Reason = criticalv2.ReasonCreateDenied
		attempt.Message = fmt.Sprintf("The API server does not accept fallback Pod %q: %.600s. %s", pod.Name, err.Error(), adviceOn(err))
	case fault.Of(err) == fault.Gone: // Its namespace is being deleted, which can take long.
		attempt.Refusals++
	default:
		return false
	}
	if key := client.ObjectKeyFromObject(snap.Service); r.Memory.Judgements.Get(key) != nil {
		r.Memory.Attempts.Set(key, attempt) // Else the Service was forgotten meanwhile.
	}
	return true
}

// adviceOn says what to do about a refusal, by its kind.
func adviceOn(err error) string {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return "Fix the PodTemplate."
	}
	if fault.IsServerFailure(err) {
		return "Check the API server, or the admission webhook that it names; the operator retries."
	}
	return "Allow it (quota, limit range, Pod Security level, admission policy or the operator's permissions), or fix the PodTemplate; the operator retries."
}
