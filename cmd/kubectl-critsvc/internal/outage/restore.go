package outage

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// goneTimeout is how long the operator may take to let a Maintenance go that is deleted.
const goneTimeout = 5 * time.Second

// Restore gives a workload back what it had, if it still has nothing. Where the
// Maintenance is gone, what it said when it was last read holds.
func Restore(ctx context.Context, to client.Client, m *criticalv2.Maintenance) error {
	current := &criticalv2.Maintenance{}
	err := to.Get(ctx, client.ObjectKeyFromObject(m), current)
	switch {
	case apierrors.IsNotFound(err):
		return restoreFromMemory(ctx, to, m)
	case err != nil:
		return fmt.Errorf("read Maintenance %s: %w", client.ObjectKeyFromObject(m), err)
	case current.UID != m.UID:
		owed, other := m.Owes(), current.Owes()
		if owed != nil && other != nil && owed.String() == other.String() {
			return nil // That one is going to give it back.
		}
		return restoreFromMemory(ctx, to, m)
	}
	if owed := current.Owes(); owed != nil {
		return giveBack(ctx, to, m.Namespace, owed)
	}
	return nil
}

// restoreFromMemory gives back what a Maintenance owed that is gone. Until its end, a user
// deleted it, and the operator gave nothing back if its Role went first. Afterwards it is
// not known whether the workload has no replicas on purpose.
func restoreFromMemory(ctx context.Context, to client.Client, m *criticalv2.Maintenance) error {
	owed := m.Owes()
	switch {
	case owed == nil:
		return nil
	case !m.IsOver(time.Now()):
		return giveBack(ctx, to, m.Namespace, owed)
	}
	away, err := IsAway(ctx, to, m.Namespace, owed)
	if err == nil && away {
		err = fmt.Errorf("the Maintenance %s is gone, and %s has no replicas: either the operator gave them back and another user scaled it down since, or they were never given back; "+
			"`%s` gives them back", client.ObjectKeyFromObject(m), owed, scaleCommand(m.Namespace, owed))
	}
	return err
}

// Forget deletes a Maintenance whose workload has its replicas. The Role goes with it. A
// finalizer that the operator does not take off, because it does not run, is of no use
// any more.
func Forget(ctx context.Context, to client.Client, m *criticalv2.Maintenance) error {
	uid := m.UID
	err := to.Delete(ctx, m.DeepCopy(), client.Preconditions{UID: &uid})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	left := &criticalv2.Maintenance{}
	if err == nil {
		err = wait.PollUntilContextTimeout(ctx, pollInterval, goneTimeout, true, func(ctx context.Context) (bool, error) {
			err := to.Get(ctx, client.ObjectKeyFromObject(m), left)
			return apierrors.IsNotFound(err) || err == nil && left.UID != uid, client.IgnoreNotFound(err)
		})
	}
	if wait.Interrupted(err) && ctx.Err() == nil {
		kept := left.DeepCopy()
		controllerutil.RemoveFinalizer(left, criticalv2.FinalizerRestore)
		err = client.IgnoreNotFound(to.Patch(ctx, left, client.MergeFromWithOptions(kept, client.MergeFromWithOptimisticLock{}), FieldOwner))
	}
	if err != nil {
		return fmt.Errorf("delete Maintenance %s: %w", client.ObjectKeyFromObject(m), err)
	}
	return nil
}
