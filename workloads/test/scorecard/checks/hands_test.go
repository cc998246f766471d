package checks

import (
	"context"
	"errors"
	"maps"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/appconfig"
	"github.com/critical-service/operator/workloads/controllers/database"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// core is whether the first operator is installed.
type core bool

// Available implements fallback.Kind.
func (c core) Available() bool { return bool(c) }

// Changed implements fallback.Kind.
func (core) Changed() <-chan struct{} { return nil }

// operate runs the operator in the namespace of a test.
func operate(t *testing.T, namespace string, first core) {
	t.Helper()
	databases := database.Options{ImageMongo: "mongo:4.0", ImageMySQL: "mysql:8.0", ImagePostgres: "postgres:16", Namespaces: []string{namespace}}
	configs := appconfig.Options{Namespaces: []string{namespace}}
	kept := database.CacheByObject(databases)
	maps.Copy(kept, appconfig.CacheByObject(configs))
	operator := cluster.Start(t, testenv.Program{
		Cache: cache.Options{ByObject: kept},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			var err error
			if databases.Fallbacks, err = fallback.NewWatch(mgr, first, databases.Namespaces); err != nil {
				return err
			}
			return errors.Join(appconfig.Setup(ctx, mgr, configs), database.Setup(mgr, databases))
		},
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator's log:\n%s", operator.Log(namespace))
		}
		operator.Stop(t)
	})
}

// hands do in one namespace what the cluster and the first operator do: as badly as configured.
type hands struct {
	namespace string

	// idle: kubelet starts no Pod.
	idle bool
	// lost: no Service has an endpoint.
	lost bool
	// deaf: the first operator looks at no ServiceFallback.
	deaf bool
	// lazy: nothing is deleted with its owner.
	lazy bool
	// greedy: with a Database goes its claim.
	greedy bool
	// eager: Deployments roll twice for each change.
	eager bool

	// rolled is the template of the Deployment that was rolled out last.
	rolled *corev1.PodTemplateSpec
}

// play begins, and ends with the test.
func (h *hands) play(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			// What does not succeed is tried again: others change the same objects.
			_ = errors.Join(h.startPods(ctx), h.publish(ctx), h.rollOut(ctx), h.protect(ctx), h.collect(ctx))
		}, 50*time.Millisecond)
	}()
	t.Cleanup(func() { stop(); <-done })
}

func (h *hands) list(ctx context.Context, list client.ObjectList) error {
	return cluster.Client.List(ctx, list, client.InNamespace(h.namespace))
}

func becomeReady(pod *corev1.Pod, address string) {
	pod.Status = corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: address, PodIPs: []corev1.PodIP{{IP: address}},
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
	}
}

func (h *hands) startPods(ctx context.Context) error {
	var pods corev1.PodList
	if err := h.list(ctx, &pods); err != nil || h.idle {
		return err
	}
	var failed []error
	for i := range pods.Items {
		if pods.Items[i].Status.PodIP == "" {
			becomeReady(&pods.Items[i], "10.2.0.2")
			failed = append(failed, cluster.Client.Status().Update(ctx, &pods.Items[i]))
		}
	}
	return errors.Join(failed...)
}

// publish makes a slice for each Service that leads to a Pod which is ready.
func (h *hands) publish(ctx context.Context) error {
	var services corev1.ServiceList
	if err := h.list(ctx, &services); err != nil || h.lost {
		return err
	}
	var failed []error
	for i := range services.Items {
		service := &services.Items[i]
		var pods corev1.PodList
		err := cluster.Client.List(ctx, &pods, client.InNamespace(h.namespace), client.MatchingLabels(service.Spec.Selector))
		if err != nil || len(pods.Items) != 1 || pods.Items[0].Status.PodIP == "" {
			failed = append(failed, err)
			continue
		}
		pod := &pods.Items[0]
		failed = append(failed, client.IgnoreAlreadyExists(cluster.Client.Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: h.namespace, Name: service.Name + "-abcde", Labels: map[string]string{discoveryv1.LabelServiceName: service.Name},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{
				Addresses: []string{pod.Status.PodIP}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name},
			}},
		})))
	}
	return errors.Join(failed...)
}

// rollOut does what the controller of Deployments does, with Pods that are ready at once.
func (h *hands) rollOut(ctx context.Context) error {
	var deployments appsv1.DeploymentList
	if err := h.list(ctx, &deployments); err != nil {
		return err
	}
	var failed []error
	for i := range deployments.Items {
		d := &deployments.Items[i]
		if d.Status.ObservedGeneration == d.Generation {
			continue
		}
		if !equality.Semantic.DeepEqual(&d.Spec.Template, h.rolled) {
			before := d.DeepCopy()
			count, _ := strconv.Atoi(d.Annotations["deployment.kubernetes.io/revision"])
			count++
			if h.eager {
				count++
			}
			metav1.SetMetaDataAnnotation(&d.ObjectMeta, "deployment.kubernetes.io/revision", strconv.Itoa(count))
			if err := cluster.Client.Patch(ctx, d, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
				failed = append(failed, err)
				continue
			}
			h.rolled = d.Spec.Template.DeepCopy()
		}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 1, UpdatedReplicas: 1, ReadyReplicas: 1, AvailableReplicas: 1}
		failed = append(failed, cluster.Client.Status().Update(ctx, d))
	}
	return errors.Join(failed...)
}

// protect says what the first operator says of a Service that is Armed.
func (h *hands) protect(ctx context.Context) error {
	var fallbacks criticalv2.ServiceFallbackList
	if err := h.list(ctx, &fallbacks); err != nil || h.deaf {
		return err
	}
	var failed []error
	for i := range fallbacks.Items {
		f := &fallbacks.Items[i]
		if f.Status.ObservedGeneration == f.Generation {
			continue
		}
		f.Status.ObservedGeneration = f.Generation
		f.Status.Details = []criticalv2.ServiceStatus{{
			Namespace: f.Namespace, Name: f.Name, State: criticalv2.StateArmed, Reason: criticalv2.ReasonStandbyReady, Message: "It is Armed.", Since: metav1.Now(),
		}}
		failed = append(failed, cluster.Client.Status().Update(ctx, f))
	}
	return errors.Join(failed...)
}

// collect deletes what belongs to a Database that is gone.
func (h *hands) collect(ctx context.Context) error {
	var databases workloadsv1.DatabaseList
	if err := h.list(ctx, &databases); err != nil || h.lazy {
		return err
	}
	there := map[string]bool{}
	for i := range databases.Items {
		there[string(databases.Items[i].UID)] = true
	}
	var failed []error
	for _, kind := range []client.ObjectList{&corev1.PersistentVolumeClaimList{}, &corev1.PodList{}, &corev1.ServiceList{}, &criticalv2.ServiceFallbackList{}} {
		failed = append(failed, h.list(ctx, kind), meta.EachListItem(kind, func(item runtime.Object) error {
			object, isObject := item.(client.Object)
			if !isObject {
				return nil
			}
			owner := metav1.GetControllerOf(object)
			_, isClaim := object.(*corev1.PersistentVolumeClaim)
			if owner != nil && !there[string(owner.UID)] || isClaim && h.greedy && len(there) == 0 {
				return client.IgnoreNotFound(cluster.Client.Delete(ctx, object, client.GracePeriodSeconds(0)))
			}
			return nil
		}))
	}
	return errors.Join(failed...)
}
