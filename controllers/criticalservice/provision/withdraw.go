package provision

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
)

// withdraw takes fallbacks away: out of their Service, or altogether. The caches
// may be behind, so the API server is asked first: a step is taken only if the
// plan would be the same with what is true now.
func (r *Reconciler) withdraw(ctx context.Context, key types.NamespacedName, plan decide.Plan, done *outcome) error {
	observe := r.ObserveLive
	if plan.Governor == nil {
		observe = r.ObserveWithdrawal
	}
	snap, err := observe(ctx, key)
	if err != nil {
		return err
	}
	if plan.Governor == nil && snap.IsGoverned() {
		return fault.WaitFor(cacheBehind, "a CriticalService that is not in the cache yet protects the Service")
	}
	live := decide.Decide(snap)
	return fault.Join(
		r.retract(ctx, &snap, plan, live, done),
		r.release(ctx, &snap, plan, live, done),
		r.remove(ctx, &snap, plan, live, done),
		r.unpublish(ctx, &snap, plan, live, done),
	)
}

// retract changes standby slices in a way that takes endpoints away.
func (r *Reconciler) retract(ctx context.Context, snap *decide.Snapshot, plan, live decide.Plan, done *outcome) error {
	var failures []error
	for _, planned := range plan.Retract {
		slice, err := confirmed(planned, live.Retract, sliceOf)
		if err == nil {
			err = write.Patch(ctx, r.Client, standby(snap, slice), slice.DeepCopy())
		}
		if err == nil {
			done.retracted = append(done.retracted, slice)
		}
		failures = append(failures, err)
	}
	return fault.Join(failures...)
}

// standby is a slice as the Snapshot has it.
func standby(snap *decide.Snapshot, to *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	i := slices.IndexFunc(snap.Standby, func(slice discoveryv1.EndpointSlice) bool { return slice.UID == to.UID })
	return &snap.Standby[i]
}

// unpublish deletes standby slices.
func (r *Reconciler) unpublish(ctx context.Context, snap *decide.Snapshot, plan, live decide.Plan, done *outcome) error {
	var failures []error
	// Where the Service is protected and answers by itself, that is why they go.
	recovered := live.State == criticalv2.StateArmed || live.State == criticalv2.StateArming
	// The slice that asks for a page lists no endpoint, and without it the page ends too.
	promoted := slices.ContainsFunc(snap.Standby, func(slice discoveryv1.EndpointSlice) bool { return protection.IsPromoted(&slice) })
	var unproved error
	if len(plan.Unpublish) > 0 && recovered && promoted {
		unproved = r.proveRecovered(ctx, snap) // Once for all slices of the Service.
	}
	for _, planned := range plan.Unpublish {
		slice, err := confirmed(planned, live.Unpublish, sliceOf)
		if err == nil {
			err = unproved
		}
		if err == nil {
			err = write.Delete(ctx, r.Client, slice.DeepCopy())
		}
		if err == nil {
			done.unpublished = append(done.unpublished, slice)
		}
		failures = append(failures, err)
	}
	return fault.Join(failures...)
}

// release lets Pods leave their Service.
func (r *Reconciler) release(ctx context.Context, snap *decide.Snapshot, plan, live decide.Plan, done *outcome) error {
	var failures []error
	for _, planned := range plan.Release {
		removal, err := confirmed(planned, live.Release, podOf)
		if err == nil && removal.Why == decide.WhyRecovered {
			err = r.proveRecovered(ctx, snap)
		}
		if err == nil {
			err = r.relabel(ctx, removal.Pod)
		}
		if err == nil {
			done.released = append(done.released, removal)
		}
		failures = append(failures, err)
	}
	return fault.Join(failures...)
}

// remove deletes Pods.
func (r *Reconciler) remove(ctx context.Context, snap *decide.Snapshot, plan, live decide.Plan, done *outcome) error {
	var failures []error
	for _, planned := range plan.Delete {
		removal, err := confirmed(planned, live.Delete, podOf)
		if err == nil {
			err = r.delete(ctx, snap, removal)
		}
		if err == nil {
			done.deleted = append(done.deleted, removal)
		}
		failures = append(failures, err)
	}
	return fault.Join(failures...)
}

func (r *Reconciler) delete(ctx context.Context, snap *decide.Snapshot, removal decide.Removal) error {
	if removal.Why == decide.WhyStuck {
		return write.DeleteNow(ctx, r.Client, removal.Pod)
	}
	if removal.Why == decide.WhyRecovered || removal.Why == decide.WhyRenewed {
		if err := r.proveRecovered(ctx, snap); err != nil {
			return err
		}
	}
	return write.Delete(ctx, r.Client, removal.Pod)
}

func podOf(removal decide.Removal) client.Object             { return removal.Pod }
func sliceOf(slice *discoveryv1.EndpointSlice) client.Object { return slice }

// confirmed finds, in what would be decided from live knowledge, the step that
// was planned for an object.
func confirmed[S any](planned S, live []S, objectOf func(S) client.Object) (S, error) {
	object := objectOf(planned)
	i := slices.IndexFunc(live, func(step S) bool { return objectOf(step).GetUID() == object.GetUID() })
	if i < 0 {
		var none S
		return none, fault.WaitFor(cacheBehind, fmt.Sprintf("keeping %q: a live read no longer confirms its removal", object.GetName()))
	}
	return live[i], nil
}

// proveRecovered makes sure that at least one endpoint that counts as the
// Service's own is one. An EndpointSlice may for a while list a Pod that is
// gone, and that Pod may have been a fallback under another name.
func (r *Reconciler) proveRecovered(ctx context.Context, snap *decide.Snapshot) error {
	for _, endpoint := range snap.OwnReady() {
		ref := endpoint.TargetRef
		if ref == nil || ref.Kind != "Pod" {
			return nil
		}
		pod, err := read.Existing[corev1.Pod](ctx, r.Live, types.NamespacedName{Namespace: snap.Service.Namespace, Name: ref.Name})
		if err != nil {
			return err
		}
		// A Pod of the same name may be another one by now, which does not run yet.
		if pod != nil && pod.UID == ref.UID && pod.DeletionTimestamp == nil && !protection.IsFallback(pod) {
			return nil
		}
	}
	return fault.WaitFor(slicesBehind, "the EndpointSlices list no Pod of the application that still exists")
}
