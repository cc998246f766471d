package responder

import (
	"context"
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/responder/internal/decide"
	"github.com/critical-service/operator/controllers/responder/internal/render"
	"github.com/critical-service/operator/internal/controller/drift"
	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/read"
	"github.com/critical-service/operator/internal/controller/write"
)

// outcome is the result of a plan. It lists only what really happened.
type outcome struct {
	// created, updated and removed are objects as the API server has, or had, them.
	created, updated, removed []client.Object
	// refreshed are Pods whose mounts the kubelet was asked to refresh; opened those
	// whose readiness gate was opened.
	refreshed, opened []*corev1.Pod
	// taken are objects of others that have the name of one of ours.
	taken []client.Object
	// failures are why something did not happen.
	failures []error
}

// denied are requests that the API server denies until a person changes something.
func (o *outcome) denied() []error {
	var denied []error
	for _, err := range o.failures {
		if fault.Of(err) == fault.UserMustAct {
			denied = append(denied, err)
		}
	}
	return denied
}

func (o *outcome) failed(failures ...error) { o.failures = append(o.failures, failures...) }

// apply carries a plan out. The failure of one write does not block the others;
// only without a table nothing else would be of use.
func (r *Reconciler) apply(ctx context.Context, snap *decide.Snapshot, plan decide.Plan, done *outcome) {
	if plan.Remove {
		done.failed(r.remove(ctx, snap.Namespace, done))
		return
	}
	table := put(ctx, r, snap.Table, plan.Table, done)
	done.failed(table)
	// Where the table has to wait, because the cache is behind with it or the API server is busy, the others wait with it.
	isTabled := len(done.taken) == 0 && fault.Of(table) != fault.Wait
	if isTabled {
		err := put(ctx, r, snap.Deployment, plan.Deployment, done)
		if err != nil && plan.Deployment != nil {
			r.versions.failed(snap, plan.Deployment, err)
		}
		done.failed(err, put(ctx, r, snap.Budget, plan.Budget, done), put(ctx, r, snap.Autoscaler, plan.Autoscaler, done))
	}
	if !isTabled || len(done.taken) > 0 {
		r.versions.drop(snap.Namespace)
	}
	if plan.Unscaled {
		done.failed(r.removeOne(ctx, client.ObjectKeyFromObject(snap.Autoscaler), &autoscalingv2.HorizontalPodAutoscaler{}, criticalv2.ResponderServer, done))
	}
	for _, refresh := range plan.RefreshMounts {
		// Through the status, by which annotations can be written as well: so the operator
		// needs no permission to change a Pod's spec.
		_, err := write.Status(ctx, r.client, refresh.From, refresh.To)
		if err == nil {
			done.refreshed = append(done.refreshed, refresh.To)
		}
		done.failed(err)
	}
	if plan.Nudge != nil && r.nudges.Allow() {
		done.failed(write.Patch(ctx, r.client, plan.Nudge.From, plan.Nudge.To))
	}
}

// openGates sets the condition of the readiness gate. The patch holds only this
// condition and the UID of the Pod: the kubelet writes the others at the same time.
func (r *Reconciler) openGates(ctx context.Context, pods []*corev1.Pod, done *outcome) {
	for _, pod := range pods {
		data, err := json.Marshal(map[string]any{
			"metadata": map[string]any{"uid": pod.UID},
			"status": map[string]any{"conditions": []corev1.PodCondition{{
				Type: criticalv2.ConditionPublished, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now(),
				Reason: "Published", Message: "The Pod is published wherever the responder stands by.",
			}}},
		})
		if err != nil {
			done.failed(fault.BugFrom(err))
			continue
		}
		target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
		err = r.client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, data))
		if err == nil {
			done.opened = append(done.opened, pod)
		}
		done.failed(err)
	}
}

// put writes an object as it is wanted. Nil stays as it is.
func put[T any, P read.Object[T]](ctx context.Context, r *Reconciler, cached, wanted P, done *outcome) error {
	if wanted == nil {
		return nil
	}
	existing := cached
	if existing == nil {
		var err error
		if existing, err = read.Existing[T, P](ctx, r.live, client.ObjectKeyFromObject(wanted)); err != nil {
			return err
		}
		role := wanted.GetLabels()[criticalv2.LabelResponder]
		switch {
		case existing == nil:
		case !render.IsOurs(existing, role):
			done.taken = append(done.taken, existing)
			return nil
		case existing.GetLabels()[criticalv2.LabelResponder] == role:
			return fault.WaitFor(fault.CacheBehind, fmt.Sprintf("%T %q is not in the cache yet", wanted, wanted.GetName()))
		}
	}
	result, err := write.Apply(ctx, r.client, wanted, read.UIDOf(existing))
	if err != nil {
		return err
	}
	stored := P(new(T))
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(result.Object, stored); err != nil {
		return fault.BugFrom(err)
	}
	r.digests.Set(ownObject{stored.GetNamespace(), fmt.Sprintf("%T", stored)}, digest{stored.GetUID(), drift.Digest(wanted, asCached(stored))})
	if existing == nil {
		done.created = append(done.created, stored)
	} else {
		done.updated = append(done.updated, stored)
	}
	return nil
}

// remove deletes the responder. The caches may be behind, so the API server is read
// first: it goes only if no slice asks for it now, and only what is ours.
func (r *Reconciler) remove(ctx context.Context, namespace string, done *outcome) error {
	asking, err := pageSlices(ctx, r.live, namespace, criticalv2.LabelStandbyPod, selection.DoesNotExist, nil, client.Limit(1))
	if err != nil {
		return err
	}
	if len(asking.Items) > 0 {
		return fault.WaitFor(fault.CacheBehind, "keeping the responder: a live read found a standby slice that asks for it")
	}
	key := types.NamespacedName{Namespace: namespace, Name: criticalv2.ResponderName}
	failures := []error{
		r.removeOne(ctx, key, &appsv1.Deployment{}, criticalv2.ResponderServer, done),
		r.removeOne(ctx, key, &policyv1.PodDisruptionBudget{}, criticalv2.ResponderServer, done),
		r.removeOne(ctx, key, &autoscalingv2.HorizontalPodAutoscaler{}, criticalv2.ResponderServer, done),
		r.removeOne(ctx, key, &corev1.ConfigMap{}, criticalv2.ResponderListeners, done),
	}
	return fault.Join(failures...)
}

func (r *Reconciler) removeOne(ctx context.Context, key types.NamespacedName, object client.Object, role string, done *outcome) error {
	if err := r.live.Get(ctx, key, object); err != nil {
		return err
	}
	if !render.IsOurs(object, role) || object.GetDeletionTimestamp() != nil {
		return nil
	}
	if err := write.Delete(ctx, r.client, object); err != nil {
		return err
	}
	done.removed = append(done.removed, object)
	return nil
}
