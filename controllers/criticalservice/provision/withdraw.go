package provision

import (
	"context"
	"fmt"
	"slices"
	"sync"

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
		return fault.WaitFor(fault.CacheBehind, "a CriticalService that is not in the cache yet protects the Service")
	}
	live := decide.Decide(snap)
	mayUnpublish := sync.OnceValue(func() error { return r.provePromotedSpare(ctx, &snap, live) })
	var failures [4]error
	done.retracted, failures[0] = each(plan.Retract, live.Retract, sliceOf, func(slice *discoveryv1.EndpointSlice) error {
		return write.Patch(ctx, r.Client, standby(&snap, slice), slice.DeepCopy())
	})
	done.released, failures[1] = each(plan.Release, live.Release, podOf, func(removal decide.Removal) error {
		return r.release(ctx, &snap, removal)
	})
	done.deleted, failures[2] = each(plan.Delete, live.Delete, podOf, func(removal decide.Removal) error {
		return r.delete(ctx, &snap, removal)
	})
	unpublished, err := each(plan.Unpublish, live.Unpublish, sliceOf, func(slice *discoveryv1.EndpointSlice) error {
		if err := mayUnpublish(); err != nil {
			return err
		}
		return r.unpublish(ctx, slice)
	})
	done.unpublished, failures[3] = append(done.unpublished, unpublished...), err
	return fault.Join(failures[:]...)
}

// withdraws reports whether a plan takes anything away.
func withdraws(plan decide.Plan) bool {
	return len(plan.Release)+len(plan.Delete)+len(plan.Retract)+len(plan.Unpublish) > 0
}

// unpublish deletes a slice.
func (r *Reconciler) unpublish(ctx context.Context, slice *discoveryv1.EndpointSlice) error {
	return write.Delete(ctx, r.Client, slice.DeepCopy())
}

// unpublishOrphans deletes, of the slices that are to go, those whose Pod does not exist
// any more, and returns the others. A Pod is gone for good, so that nothing else has to be
// read: a rollout of a responder leaves one slice for each Service of its namespace, and
// the more there are the longer the API server takes to list those of a Service.
func (r *Reconciler) unpublishOrphans(ctx context.Context, unpublish []*discoveryv1.EndpointSlice, done *outcome) (others []*discoveryv1.EndpointSlice, err error) {
	var failures []error
	for _, slice := range unpublish {
		isOrphan, err := r.isOrphan(ctx, slice)
		if err == nil && !isOrphan {
			others = append(others, slice)
			continue
		}
		if err == nil {
			err = r.unpublish(ctx, slice)
		}
		if err == nil {
			done.unpublished = append(done.unpublished, slice)
		}
		failures = append(failures, err)
	}
	return others, fault.Join(failures...)
}

// isOrphan reports whether the Pod that owns a slice is gone. The API server is asked only
// where the cache does not show that the Pod stays.
func (r *Reconciler) isOrphan(ctx context.Context, slice *discoveryv1.EndpointSlice) (bool, error) {
	if len(slice.OwnerReferences) != 1 || slice.OwnerReferences[0].Kind != "Pod" {
		return false, nil
	}
	owner := slice.OwnerReferences[0]
	key := types.NamespacedName{Namespace: slice.Namespace, Name: owner.Name}
	cached, err := read.Existing[corev1.Pod](ctx, r.Cached, key)
	if err != nil || cached != nil && cached.UID == owner.UID && cached.DeletionTimestamp == nil {
		return false, err
	}
	pod, err := read.Existing[corev1.Pod](ctx, r.Live, key)
	return err == nil && (pod == nil || pod.UID != owner.UID), err
}

// each takes the steps that were planned and that live knowledge confirms, in the form that
// this gives them, and lists those that were taken. The failure of one does not block the
// others.
func each[S any](planned, live []S, objectOf func(S) client.Object, take func(S) error) (taken []S, err error) {
	var failures []error
	for _, step := range planned {
		step, err := confirmed(step, live, objectOf)
		if err == nil {
			err = take(step)
		}
		if err == nil {
			taken = append(taken, step)
		}
		failures = append(failures, err)
	}
	return taken, fault.Join(failures...)
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
		return none, fault.WaitFor(fault.CacheBehind, fmt.Sprintf("keeping %q: a live read no longer confirms its removal", object.GetName()))
	}
	return live[i], nil
}

// standby is a slice as the Snapshot has it.
func standby(snap *decide.Snapshot, to *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	i := slices.IndexFunc(snap.Standby, func(slice discoveryv1.EndpointSlice) bool { return slice.UID == to.UID })
	return &snap.Standby[i]
}

// release lets a Pod leave its Service.
func (r *Reconciler) release(ctx context.Context, snap *decide.Snapshot, removal decide.Removal) error {
	if removal.Why == decide.WhyRecovered {
		if err := r.proveRecovered(ctx, snap); err != nil {
			return err
		}
	}
	return r.relabel(ctx, removal.Pod)
}

// delete deletes a Pod.
func (r *Reconciler) delete(ctx context.Context, snap *decide.Snapshot, removal decide.Removal) error {
	if removal.Why == decide.WhyStuck {
		return write.DeleteNow(ctx, r.Client, removal.Pod)
	}
	if slices.Contains([]decide.Why{decide.WhyRecovered, decide.WhyRenewed, decide.WhySilent}, removal.Why) {
		if err := r.proveRecovered(ctx, snap); err != nil {
			return err
		}
	}
	return write.Delete(ctx, r.Client, removal.Pod)
}

// provePromotedSpare makes sure that a fallback that answers now is not needed, where its
// slices go because the Service is protected and answers by itself.
func (r *Reconciler) provePromotedSpare(ctx context.Context, snap *decide.Snapshot, live decide.Plan) error {
	recovered := live.State == criticalv2.StateArmed || live.State == criticalv2.StateArming
	// The slice that asks for a page lists no endpoint, and without it the page ends too.
	promoted := slices.ContainsFunc(snap.Standby, func(slice discoveryv1.EndpointSlice) bool { return protection.IsPromoted(&slice) })
	if !recovered || !promoted {
		return nil
	}
	return r.proveRecovered(ctx, snap)
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
