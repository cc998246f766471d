package outage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// DryRun asks the API server whether the user may scale the workload down.
func (w *Workload) DryRun(ctx context.Context, to client.Client) error {
	return w.explain(setScale(ctx, to, w.object, 0, w.version, client.DryRunAll))
}

// ScaleDown scales the workload to zero, provided that their number is still what it was
// when the workload was found.
func (w *Workload) ScaleDown(ctx context.Context, to client.Client) error {
	w.scaled = time.Now()
	err := setScale(ctx, to, w.object, 0, w.version)
	if apierrors.IsConflict(err) {
		var replicas int32
		if replicas, w.version, err = scaleOf(ctx, to, w.object); err == nil && replicas != w.Replicas {
			return fmt.Errorf("%s was scaled from %d to %d meanwhile: try again", w, w.Replicas, replicas)
		}
		if err == nil {
			err = setScale(ctx, to, w.object, 0, w.version)
		}
	}
	return w.explain(err)
}

// WasScaled reports whether it was scaled down, or that was tried: a request that failed
// without an answer may have been carried out.
func (w *Workload) WasScaled() bool { return !w.scaled.IsZero() }

func (w *Workload) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not scale %s: it needs the verbs get and patch on %s/scale, which the ClusterRole \"edit\" has (%s)",
			w, w.Owed().Resource(), err.Error())
	default:
		return fmt.Errorf("scale %s to 0: %w", w, err)
	}
}

// giveBack gives a workload its replicas, if it still has none. A workload that is
// gone gets nothing.
func giveBack(ctx context.Context, to client.Client, namespace string, owed *criticalv2.WorkloadReplicas) error {
	object := objectOf(namespace, owed)
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		replicas, version, err := scaleOf(ctx, to, object)
		if err != nil || replicas != 0 {
			return err
		}
		return setScale(ctx, to, object, owed.Replicas, version)
	})
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	default:
		return fmt.Errorf("give %s its %d replicas back (`%s` does the same): %w", owed, owed.Replicas, scaleCommand(namespace, owed), err)
	}
}

// IsAway reports whether a workload has no replicas. One that is gone is not away.
func IsAway(ctx context.Context, from client.Client, namespace string, owed *criticalv2.WorkloadReplicas) (bool, error) {
	replicas, _, err := scaleOf(ctx, from, objectOf(namespace, owed))
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read the scale of %s: %w", owed, err)
	default:
		return replicas == 0, nil
	}
}

// objectOf names the object of a workload.
func objectOf(namespace string, owed *criticalv2.WorkloadReplicas) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	if owed.StatefulSet != "" {
		object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	}
	object.SetNamespace(namespace)
	object.SetName(owed.Name())
	return object
}

// scaleCommand is the command that gives a workload its replicas back.
func scaleCommand(namespace string, owed *criticalv2.WorkloadReplicas) string {
	return fmt.Sprintf("kubectl scale -n %s %s --replicas=%d", namespace, owed, owed.Replicas)
}

// setScale sets the replicas of an object that has not changed since.
func setScale(ctx context.Context, to client.Client, object *unstructured.Unstructured, replicas int32, version string, options ...client.SubResourcePatchOption) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": version},
		"spec":     map[string]any{"replicas": replicas},
	})
	if err != nil {
		return errors.New("a scale does not marshal")
	}
	return to.SubResource("scale").Patch(ctx, object.DeepCopy(), client.RawPatch(types.MergePatchType, patch), append(options, FieldOwner)...)
}
