package protect

import (
	"context"
	"fmt"
	"maps"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/write"
	"github.com/critical-service/operator/internal/protection"
)

// publish writes a standby slice, and remembers a refusal for the status.
func (r *Reconciler) publish(ctx context.Context, key types.NamespacedName, slice *discoveryv1.EndpointSlice) error {
	err := r.write(ctx, key, slice)
	switch {
	case err == nil:
		r.Memory.Refusals.Delete(key)
	case isRefusal(err):
		r.Memory.Refusals.Set(key, decide.Refusal{Reason: criticalv2.ReasonCreateDenied, Message: fmt.Sprintf(
			"The API server does not accept standby EndpointSlice %q: %.600s. Allow it (admission policy, quota, the operator's permissions); the operator retries.",
			slice.Name, err.Error())})
	}
	return err
}

// write writes a standby slice. It is on the way of a failover, and so asks nothing
// first: the write is refused if the cache was behind.
func (r *Reconciler) write(ctx context.Context, key types.NamespacedName, slice *discoveryv1.EndpointSlice) error {
	if slice.ResourceVersion != "" {
		return r.change(ctx, slice)
	}
	err := write.Create(ctx, r.Client, slice.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		return r.reclaim(ctx, key, slice)
	}
	return err
}

// nameTakenWait is when to check again for another user's slice: no watch shows it,
// because it belongs to no Service.
const nameTakenWait = 30 * time.Second

// reclaim gives a slice of the operator's back the labels that another user removed,
// without which neither the cache nor any proxy finds it. All else about it is
// decided when it is seen again. Another user's slice stays as it is.
func (r *Reconciler) reclaim(ctx context.Context, key types.NamespacedName, wanted *discoveryv1.EndpointSlice) error {
	existing := &discoveryv1.EndpointSlice{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(wanted), existing); err != nil {
		return err
	}
	fixed := existing.DeepCopy()
	for name, value := range wanted.Labels {
		metav1.SetMetaDataLabel(&fixed.ObjectMeta, name, value)
	}
	switch {
	case !protection.MadeByOperator(existing):
		r.Memory.Refusals.Set(key, decide.Refusal{Reason: criticalv2.ReasonNameTaken, Message: fmt.Sprintf(
			"EndpointSlice %q has the name of the standby and is not the operator's: delete or rename it.", existing.Name)})
		return fault.WaitFor(nameTakenWait, fmt.Sprintf("EndpointSlice %q belongs to another user", existing.Name))
	case existing.DeletionTimestamp != nil || maps.Equal(existing.Labels, fixed.Labels):
		return fault.WaitFor(cacheBehind, fmt.Sprintf("EndpointSlice %q is not in the cache yet", existing.Name))
	default:
		return write.Patch(ctx, r.Client, existing, fixed)
	}
}

// change writes what differs in a standby slice from what the cache holds.
func (r *Reconciler) change(ctx context.Context, to *discoveryv1.EndpointSlice) error {
	from := &discoveryv1.EndpointSlice{}
	if err := r.Cached.Get(ctx, client.ObjectKeyFromObject(to), from); err != nil {
		return err
	}
	if from.UID != to.UID || from.ResourceVersion != to.ResourceVersion {
		return fault.WaitFor(conflictWait, fmt.Sprintf("EndpointSlice %q changed meanwhile", to.Name))
	}
	return write.Patch(ctx, r.Client, from, to.DeepCopy())
}
