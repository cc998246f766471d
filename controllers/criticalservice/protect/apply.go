package protect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
)

// outcome is what came of a plan. It lists only what really happened.
type outcome struct {
	published []*discoveryv1.EndpointSlice
	// denied is the kind of a fallback that the API server did not let answer.
	denied string
}

// changedMeanwhile is when to check again where a slice is not what was decided on any more, and what it is now can be read.
// It is short, as a promotion may wait for it.
const changedMeanwhile = 200 * time.Millisecond

// exists reports whether a slice that is to be written does so far. Those that do are
// changed by the controller that protects, all others are made by one of their own.
func exists(slice *discoveryv1.EndpointSlice) bool { return slice.ResourceVersion != "" }

func isNew(slice *discoveryv1.EndpointSlice) bool { return !exists(slice) }

// apply publishes, promotes and demotes the slices that are concerned, all at once. The
// failure of one write does not block the others. All the rest of the plan is provision's.
func (r *Reconciler) apply(ctx context.Context, key types.NamespacedName, plan decide.Plan, concerned func(*discoveryv1.EndpointSlice) bool) (outcome, error) {
	var done outcome
	written := r.written(key, plan)
	failures, refusals := make([]error, len(plan.Publish)), make([]*decide.Refusal, len(plan.Publish))
	var writes sync.WaitGroup
	for i, slice := range plan.Publish {
		if !concerned(slice) {
			continue
		}
		if w, behind := written[slice.Name]; behind {
			rest := max(fault.CacheBehind-r.Clock.Since(w.At), time.Millisecond)
			failures[i] = fault.WaitFor(rest, fmt.Sprintf("EndpointSlice %q was written, and the cache does not show it yet", slice.Name))
			continue
		}
		writes.Go(func() { refusals[i], failures[i] = r.publish(ctx, slice) })
	}
	writes.Wait()
	var late []*discoveryv1.EndpointSlice
	for i, slice := range plan.Publish {
		switch err := failures[i]; {
		case !concerned(slice):
		case err == nil:
			done.published = append(done.published, slice)
		case apierrors.IsConflict(err) && exists(slice):
			late = append(late, slice)
		case fault.IsRefusal(err) && protection.IsPromoted(slice):
			done.denied = slice.Labels[criticalv2.LabelFallbackKind]
		}
	}
	r.noteWritten(key, slices.Concat(done.published, late))
	r.noteRefusals(key, plan, done, refusals)
	return done, fault.Join(failures...)
}

// written are the slices to be written that were already, by this operator or another writer,
// from the very state that the cache still shows: another write would only meet a conflict.
// What is no longer to be written, or has changed, is forgotten.
func (r *Reconciler) written(key types.NamespacedName, plan decide.Plan) map[string]memory.Written {
	still := map[string]memory.Written{}
	r.Memory.Written.Update(key, func(last *map[string]memory.Written) *map[string]memory.Written {
		if last == nil {
			return nil
		}
		for _, slice := range plan.Publish {
			w, found := (*last)[slice.Name]
			if found && w.From == slice.ResourceVersion && r.Clock.Since(w.At) < fault.CacheBehind {
				still[slice.Name] = w
			}
		}
		if len(still) == 0 {
			return nil
		}
		return &still
	})
	return still
}

// noteWritten remembers slices that are no longer what the cache shows, beside those that the other controller wrote meanwhile.
func (r *Reconciler) noteWritten(key types.NamespacedName, written []*discoveryv1.EndpointSlice) {
	if len(written) == 0 {
		return
	}
	r.Memory.Written.Update(key, func(last *map[string]memory.Written) *map[string]memory.Written {
		next := map[string]memory.Written{}
		if last != nil {
			maps.Copy(next, *last)
		}
		for _, slice := range written {
			next[slice.Name] = memory.Written{From: slice.ResourceVersion, At: r.Clock.Now()}
		}
		return &next
	})
}

// noteRefusals remembers a refusal until its slice is written, or another one in its
// place: what is written beside it says nothing about it.
func (r *Reconciler) noteRefusals(key types.NamespacedName, plan decide.Plan, done outcome, refusals []*decide.Refusal) {
	if i := slices.IndexFunc(refusals, func(refusal *decide.Refusal) bool { return refusal != nil }); i >= 0 {
		r.Memory.Refusals.Set(key, *refusals[i])
		return
	}
	if len(done.published) == 0 {
		return
	}
	r.Memory.Refusals.Update(key, func(last *decide.Refusal) *decide.Refusal {
		if last == nil {
			return nil
		}
		isIt := func(slice *discoveryv1.EndpointSlice) bool { return slice.Name == last.Slice }
		if slices.ContainsFunc(plan.Publish, isIt) && !slices.ContainsFunc(done.published, isIt) {
			return last
		}
		return nil
	})
}

// publish writes a standby slice. It is on the way of a failover, and so asks nothing
// first: the write is refused if the cache was behind. A refusal is for the status.
func (r *Reconciler) publish(ctx context.Context, slice *discoveryv1.EndpointSlice) (*decide.Refusal, error) {
	var err error
	if exists(slice) {
		err = r.change(ctx, slice)
	} else if err = write.Create(ctx, r.Client, slice.DeepCopy()); apierrors.IsAlreadyExists(err) {
		refusal, err := r.reclaim(ctx, slice)
		if apierrors.IsNotFound(err) {
			// No watch wakes the Service: the slice may have named another one.
			err = fault.WaitFor(changedMeanwhile, fmt.Sprintf("EndpointSlice %q was deleted meanwhile", slice.Name))
		}
		return refusal, err
	}
	if !fault.IsRefusal(err) {
		return nil, err
	}
	return &decide.Refusal{Slice: slice.Name, Reason: criticalv2.ReasonCreateDenied, Message: fmt.Sprintf(
		"The API server does not accept standby EndpointSlice %q: %.600s. Allow it (admission policy, quota, the operator's permissions); the operator retries.",
		slice.Name, err.Error())}, err
}

// nameTakenWait is when to check again for another user's slice: no watch shows it,
// because it belongs to no Service.
const nameTakenWait = 30 * time.Second

// reclaim gives a slice of the operator's back the labels that another user removed,
// without which neither the cache nor any proxy finds it. All else about it is
// decided when it is seen again. Another user's slice stays as it is.
func (r *Reconciler) reclaim(ctx context.Context, wanted *discoveryv1.EndpointSlice) (*decide.Refusal, error) {
	existing := &discoveryv1.EndpointSlice{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return nil, err
	}
	fixed := existing.DeepCopy()
	for name, value := range wanted.Labels {
		metav1.SetMetaDataLabel(&fixed.ObjectMeta, name, value)
	}
	switch {
	case !protection.MadeByOperator(existing) && !sameOwner(existing, wanted):
		return &decide.Refusal{Slice: wanted.Name, Reason: criticalv2.ReasonNameTaken, Message: fmt.Sprintf(
			"EndpointSlice %q has the name of the standby and is not the operator's: delete or rename it.", existing.Name,
		)}, fault.WaitFor(nameTakenWait, fmt.Sprintf("EndpointSlice %q belongs to another user", existing.Name))
	case existing.DeletionTimestamp != nil || maps.Equal(existing.Labels, fixed.Labels):
		return nil, fault.WaitFor(fault.CacheBehind, fmt.Sprintf("EndpointSlice %q is not in the cache yet", existing.Name))
	default:
		return nil, write.Patch(ctx, r.Client, existing, fixed)
	}
}

// sameOwner reports whether a slice belongs to the Pod that another one is to publish.
func sameOwner(existing, wanted *discoveryv1.EndpointSlice) bool {
	return protection.StandsFor(wanted) != "" && slices.ContainsFunc(existing.OwnerReferences, func(owner metav1.OwnerReference) bool {
		return owner.UID == protection.StandsFor(wanted)
	})
}

// change writes what differs in a standby slice from what the cache holds. It fails with a conflict if the cache is behind.
func (r *Reconciler) change(ctx context.Context, to *discoveryv1.EndpointSlice) error {
	from := &discoveryv1.EndpointSlice{}
	if err := r.Cached.Get(ctx, client.ObjectKeyFromObject(to), from); err != nil {
		return err
	}
	if from.UID != to.UID || from.ResourceVersion != to.ResourceVersion {
		return fault.WaitFor(changedMeanwhile, fmt.Sprintf("EndpointSlice %q changed meanwhile", to.Name))
	}
	return write.Patch(ctx, r.Client, from, to.DeepCopy())
}
