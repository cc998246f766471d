package criticalservice

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv1 "github.com/critical-service/operator/api/v1"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/render"
	"github.com/critical-service/operator/controllers/internal/fault"
	"github.com/critical-service/operator/controllers/internal/write"
)

// outcome is what came of a plan. It lists only what really happened.
type outcome struct {
	created  *corev1.Pod
	rebound  []*corev1.Pod
	released []*corev1.Pod
	deleted  []decide.Deletion
}

// When to look again after something turned out to be behind. Both end sooner by
// themselves: what is late wakes the Service when it comes.
const (
	// cacheBehind: the operator's cache does not show yet what the API server has.
	cacheBehind = time.Second
	// slicesBehind: the EndpointSlices do not show yet which Pods there are.
	slicesBehind = 30 * time.Second
)

// apply carries a plan out. What adds comes before what takes away, and the
// failure of one write does not hinder the others.
func (r *ServiceReconciler) apply(ctx context.Context, key types.NamespacedName, plan decide.Plan) (outcome, error) {
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
		created, err := r.create(ctx, key, plan.Create)
		failures = append(failures, err)
		done.created = created
	}
	if plan.Rehearse != nil {
		failures = append(failures, r.rehearse(ctx, key, plan.Rehearse))
	}
	if len(plan.Release)+len(plan.Delete) > 0 {
		failures = append(failures, r.withdraw(ctx, key, plan, &done))
	}
	return done, fault.Join(failures...)
}

// relabel writes a Pod's labels, annotations and owners as they must become.
func (r *ServiceReconciler) relabel(ctx context.Context, to *corev1.Pod) error {
	from := &corev1.Pod{}
	if err := r.live.Get(ctx, client.ObjectKeyFromObject(to), from); err != nil {
		return err
	}
	if from.UID != to.UID || from.ResourceVersion != to.ResourceVersion {
		return fault.WaitFor(cacheBehind, fmt.Sprintf("fallback Pod %q changed meanwhile", to.Name))
	}
	return write.Patch(ctx, r.client, from, to)
}

// create makes the fallback Pod. A refusal is not an error: it is the API
// server's answer, is remembered as such, and the next plan takes it from there.
func (r *ServiceReconciler) create(ctx context.Context, key types.NamespacedName, pod *corev1.Pod) (*corev1.Pod, error) {
	err := write.Create(ctx, r.client, pod.DeepCopy())
	if answered := r.record(key, pod, false, err); !answered {
		return nil, err
	}
	if err != nil {
		return nil, nil
	}
	return pod, nil
}

// Rehearsals must not hold up what an outage needs: only so many run at once, and
// an admission webhook that does not answer is not waited for.
const (
	rehearsalsAtOnce = 2
	rehearseWithin   = 5 * time.Second
	rehearseLater    = time.Second
)

func (r *ServiceReconciler) rehearse(ctx context.Context, key types.NamespacedName, pod *corev1.Pod) error {
	select {
	case r.rehearsals <- struct{}{}:
		defer func() { <-r.rehearsals }()
	default:
		return fault.WaitFor(rehearseLater, "other rehearsals are under way")
	}
	limited, cancel := context.WithTimeout(ctx, rehearseWithin)
	defer cancel()
	err := write.Rehearse(limited, r.client, pod.DeepCopy())
	if fault.IsDryRunUnsupported(err) {
		err = nil // Nobody can tell before the outage, which is no reason for alarm.
	}
	if answered := r.record(key, pod, true, err); !answered {
		return err
	}
	return nil
}

// record remembers the API server's answer to a create, and tells whether it
// was one: a connection that broke, or a request to come back later, is none.
func (r *ServiceReconciler) record(key types.NamespacedName, pod *corev1.Pod, rehearsal bool, err error) bool {
	attempt := decide.Attempt{Hash: render.Hash(pod), At: r.clock.Now(), Rehearsal: rehearsal}
	if last := r.attempts.get(key); last != nil && last.Hash == attempt.Hash && last.Rehearsal == rehearsal {
		attempt.Refusals = last.Refusals
	}
	switch {
	case err == nil:
		attempt.Refusals = 0
	case apierrors.IsAlreadyExists(err):
		attempt.Refusals++
		attempt.Reason = criticalv1.ReasonNameTaken
		attempt.Message = fmt.Sprintf("A Pod %q that is not a fallback holds the name: delete or rename it, or set POD_NAME_PREFIX.", pod.Name)
	case fault.Of(err) == fault.UserMustAct, fault.IsServerFailure(err):
		attempt.Refusals++
		attempt.Reason = criticalv1.ReasonCreateDenied
		attempt.Message = fmt.Sprintf("The API server does not accept fallback Pod %q: %.600s. %s", pod.Name, err.Error(), adviceOn(err))
	default:
		return false
	}
	r.attempts.set(key, attempt)
	return true
}

// adviceOn says what to do about a refusal, so far as its kind tells.
func adviceOn(err error) string {
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) {
		return "Mend the PodTemplate."
	}
	if fault.IsServerFailure(err) {
		return "Look at the API server, or at the admission webhook that it names; the operator tries again by itself."
	}
	return "Allow it (quota, limit range, Pod Security level, admission policy or the operator's permissions), or mend the PodTemplate; the operator tries again by itself."
}

// withdraw takes fallback Pods away: out of their Service, or altogether. The
// caches may be behind, so the API server is asked first: a Pod goes only if the
// plan would be the same with what is true now.
func (r *ServiceReconciler) withdraw(ctx context.Context, key types.NamespacedName, plan decide.Plan, done *outcome) error {
	snap, err := r.observeLive(ctx, key)
	if err != nil {
		return err
	}
	live := decide.Decide(snap)
	var failures []error

	for _, planned := range plan.Release {
		pod, err := confirmed(planned, live.Release, func(pod *corev1.Pod) *corev1.Pod { return pod })
		if err == nil {
			err = r.proveRecovered(ctx, &snap)
		}
		if err == nil {
			err = r.relabel(ctx, pod)
		}
		if err == nil {
			done.released = append(done.released, pod)
		}
		failures = append(failures, err)
	}
	for _, planned := range plan.Delete {
		deletion, err := confirmed(planned.Pod, live.Delete, func(d decide.Deletion) *corev1.Pod { return d.Pod })
		if err == nil {
			err = r.delete(ctx, &snap, deletion)
		}
		if err == nil {
			done.deleted = append(done.deleted, deletion)
		}
		failures = append(failures, err)
	}
	return fault.Join(failures...)
}

func (r *ServiceReconciler) delete(ctx context.Context, snap *decide.Snapshot, deletion decide.Deletion) error {
	if deletion.Why == decide.WhyStuck {
		return write.DeleteNow(ctx, r.client, deletion.Pod)
	}
	if deletion.Why == decide.WhyRecovered {
		if err := r.proveRecovered(ctx, snap); err != nil {
			return err
		}
	}
	return write.Delete(ctx, r.client, deletion.Pod)
}

// confirmed finds, in what would be decided from live knowledge, the step that
// was planned for a Pod.
func confirmed[S any](planned *corev1.Pod, live []S, podOf func(S) *corev1.Pod) (S, error) {
	i := slices.IndexFunc(live, func(step S) bool { return podOf(step).UID == planned.UID })
	if i < 0 {
		var none S
		return none, fault.WaitFor(cacheBehind, fmt.Sprintf("fallback Pod %q is to stay by what the API server says now", planned.Name))
	}
	return live[i], nil
}

// proveRecovered makes sure that at least one endpoint that counts as the
// Service's own is one. An EndpointSlice may for a while list a Pod that is
// gone, and that Pod may have been a fallback under another name.
func (r *ServiceReconciler) proveRecovered(ctx context.Context, snap *decide.Snapshot) error {
	for _, endpoint := range snap.OwnReady() {
		ref := endpoint.TargetRef
		if ref == nil || ref.Kind != "Pod" {
			return nil
		}
		pod := &corev1.Pod{}
		key := types.NamespacedName{Namespace: snap.Service.Namespace, Name: ref.Name}
		pod, err := found(pod, r.live.Get(ctx, key, pod))
		if err != nil {
			return err
		}
		if pod != nil && !render.IsFallback(pod) {
			return nil
		}
	}
	return fault.WaitFor(slicesBehind, "the EndpointSlices list no Pod of the application that still exists")
}
