// Package write holds the few ways in which controllers write to the API
// server: each says what it wrote, and refuses to act on an object that has changed
// since it was read. The client carries the field manager: see Counted.
package write

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/internal/controller/fault"
)

// FieldManager is the name under which the core owns fields.
const FieldManager = "critical-service-operator"

// Create creates an object. It never takes over one that exists, as an apply
// would: the caller learns that the name is taken.
func Create(ctx context.Context, c client.Client, object client.Object) error {
	return c.Create(ctx, object)
}

// DryRun asks the API server whether it would create an object: admission, quota and
// validation answer as they would in earnest, and nothing is stored.
func DryRun(ctx context.Context, c client.Client, object client.Object) error {
	return c.Create(ctx, object, client.DryRunAll)
}

// Patch writes the difference of two states of an object, provided that it is
// still as it was read.
func Patch(ctx context.Context, c client.Client, from, to client.Object) error {
	// A Get from the cache says the kind, a List does not; it is no difference.
	to.GetObjectKind().SetGroupVersionKind(from.GetObjectKind().GroupVersionKind())
	return c.Patch(ctx, to, client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{}))
}

// Merge is Patch for the kinds of Kubernetes itself. In lists with keys, such as that of the
// owners, it changes only what differs: the states need not have what others wrote there.
func Merge(ctx context.Context, c client.Client, from, to client.Object) error {
	return c.Patch(ctx, to, client.StrategicMergeFrom(from, client.MergeFromWithOptimisticLock{}))
}

// Apply applies an object: the one with the UID, or, if that is empty, one that does not
// exist. In the latter case conflicts are not forced, so that an object which another user
// created in the same instant is not taken over. It returns the object as it is stored.
func Apply(ctx context.Context, c client.Client, wanted client.Object, uid types.UID) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wanted)
	if err != nil {
		return nil, fault.BugFrom(err)
	}
	object := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(object.Object, "status")
	var options []client.ApplyOption
	if uid != "" {
		object.SetUID(uid)
		options = append(options, client.ForceOwnership)
	}
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), options...)
	return object, err
}

// Delete deletes an object, provided that it is the very one that was read, and
// still as it was read.
func Delete(ctx context.Context, c client.Client, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return c.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// DeleteNow is Delete without waiting for the node that the Pod is on: for a Pod
// whose node does not answer any more.
func DeleteNow(ctx context.Context, c client.Client, object client.Object) error {
	uid := object.GetUID()
	return c.Delete(ctx, object, client.Preconditions{UID: &uid}, client.GracePeriodSeconds(0))
}

// Status writes the status of an object where it differs, and reports whether it
// did. The two must differ in nothing but their status.
func Status(ctx context.Context, c client.Client, from, to client.Object) (bool, error) {
	if equality.Semantic.DeepEqual(from, to) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(from, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, to, patch); err != nil {
		return false, err
	}
	return true, nil
}
