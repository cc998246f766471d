package etcdinstance_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// world is a test's own namespace, the operator that watches it, and the members of its cluster.
type world struct {
	*testenv.World
	operator *testenv.Operator
	etcd     *etcd
}

// served is the core's kind, which is served all the time.
type served struct {
	once    sync.Once
	changed chan struct{}
}

// Available implements fallback.Kind.
func (*served) Available() bool { return true }

// Changed implements fallback.Kind.
func (s *served) Changed() <-chan struct{} {
	s.once.Do(func() { s.changed = make(chan struct{}) })
	return s.changed
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return alone(t)
}

// alone is a world whose test does not run beside others.
func alone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t), etcd: &etcd{}}
	t.Cleanup(func() {
		if w.operator != nil {
			if t.Failed() {
				t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
			}
			w.lint()
			w.operator.Stop(t)
		}
		w.DeleteAll(
			&workloadsv1alpha1.ETCDInstance{}, &criticalv2.ServiceFallback{}, &corev1.Secret{}, &appsv1.StatefulSet{}, &corev1.Pod{},
			&policyv1.PodDisruptionBudget{},
		)
	})
	return w
}

// start starts an operator that sees the world's namespace only.
func (w *world) start(changes ...func(*testenv.Program)) {
	w.T.Helper()
	options := etcdinstance.Options{Image: "etcd:v3.7.0", OwnImage: "workloads:1", Namespaces: []string{w.Namespace}, Etcd: w.etcd}
	program := testenv.Program{
		Cache: cache.Options{ByObject: etcdinstance.CacheByObject(options)},
		Setup: func(_ context.Context, mgr ctrl.Manager) error {
			var err error
			if options.Fallbacks, err = fallback.NewWatch(mgr, &served{}, options.Namespaces); err != nil {
				return err
			}
			return etcdinstance.Setup(mgr, options)
		},
	}
	for _, change := range changes {
		change(&program)
	}
	w.operator = w.Cluster.Start(w.T, program)
}

// reasons are what the documentation promises.
var reasons = map[string][]string{
	"Ready/True": {workloadsv1.ReasonRunning},
	"Ready/False": {
		workloadsv1.ReasonStarting, workloadsv1.ReasonReplacing, workloadsv1.ReasonCreateDenied, workloadsv1.ReasonNameTaken,
		workloadsv1.ReasonSecretInvalid, workloadsv1.ReasonImagePullFailing, workloadsv1.ReasonPodFailing, workloadsv1.ReasonUnschedulable,
		workloadsv1alpha1.ReasonScaling, workloadsv1alpha1.ReasonUpgrading, workloadsv1alpha1.ReasonMemberFailing, workloadsv1alpha1.ReasonUpgradeRefused, workloadsv1alpha1.ReasonAlarm,
		workloadsv1alpha1.ReasonQuorumPending, workloadsv1alpha1.ReasonQuorumLost, workloadsv1alpha1.ReasonRestoreFailed, workloadsv1alpha1.ReasonBackingUp, workloadsv1alpha1.ReasonBackupFailed,
	},
	"Quorum/True":     {workloadsv1alpha1.ReasonQuorumHeld},
	"Quorum/False":    {workloadsv1alpha1.ReasonQuorumPending, workloadsv1alpha1.ReasonQuorumLost},
	"Restored/True":   {workloadsv1alpha1.ReasonRestored},
	"Restored/False":  {workloadsv1alpha1.ReasonRestorePending, workloadsv1alpha1.ReasonWaitingForUpload, workloadsv1alpha1.ReasonRestoreFailed},
	"Protected/False": {workloadsv1.ReasonFallbackPending, workloadsv1.ReasonFallbackNone, workloadsv1.ReasonNameTaken},
}

// lint holds the status of every ETCDInstance to the API conventions.
func (w *world) lint() {
	w.T.Helper()
	var all workloadsv1alpha1.ETCDInstanceList
	w.Expect(w.Cluster.Client.List(context.WithoutCancel(w.T.Context()), &all, client.InNamespace(w.Namespace))).To(Succeed())
	for i := range all.Items {
		e := &all.Items[i]
		w.Expect(testenv.LintConditions(e.Generation, e.Status.ObservedGeneration, e.Status.Conditions, reasons)).To(BeEmpty())
	}
}

// instance makes an ETCDInstance.
func (w *world) instance(change func(*workloadsv1alpha1.ETCDInstance)) *workloadsv1alpha1.ETCDInstance {
	w.T.Helper()
	e := &workloadsv1alpha1.ETCDInstance{ObjectMeta: metav1.ObjectMeta{Name: "my-super-etcd"}}
	change(e)
	w.Create(e)
	return e
}

// kubernetes does once what its controllers and kubelets do with the StatefulSet. The operator works on the same objects
// meanwhile: what it changed or removed since they were read is left for the next time.
func (w *world) kubernetes(g Gomega, e *workloadsv1alpha1.ETCDInstance) {
	w.T.Helper()
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.Name}}
	if !w.Exists(set) {
		return
	}
	if set.Status.ObservedGeneration != set.Generation {
		set.Status.ObservedGeneration = set.Generation
		g.Expect(client.IgnoreNotFound(w.Cluster.Client.Status().Update(w.T.Context(), set))).To(Succeed())
	}
	for ordinal := range workloadsv1alpha1.MaxReplicas {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: e.MemberName(ordinal)}}
		isWanted := ordinal < int(*set.Spec.Replicas)
		switch exists := w.Exists(pod); {
		case exists && !isWanted:
			g.Expect(client.IgnoreNotFound(w.Cluster.Client.Delete(w.T.Context(), pod, client.GracePeriodSeconds(0)))).To(Succeed())
		case !exists && isWanted:
			pod.Labels, pod.Annotations = set.Spec.Template.Labels, set.Spec.Template.Annotations
			pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
			pod.Spec = testenv.PodSpec()
			for i := range set.Spec.VolumeClaimTemplates {
				claim := set.Spec.VolumeClaimTemplates[i].DeepCopy()
				claim.Name, claim.Namespace = e.ClaimName(ordinal), w.Namespace
				if !w.Exists(claim.DeepCopy()) {
					w.Create(claim)
				}
			}
			w.Create(pod)
		}
		if isWanted && pod.Status.PodIP == "" {
			address := fmt.Sprintf("10.0.0.%d", ordinal+1)
			pod.Status.PodIP, pod.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
			g.Expect(client.IgnoreNotFound(w.Cluster.Client.Status().Update(w.T.Context(), pod))).To(Succeed())
		}
	}
}

// becomes lets Kubernetes work until the status of an ETCDInstance is as it is to be.
func (w *world) becomes(e *workloadsv1alpha1.ETCDInstance, state workloadsv1alpha1.ETCDInstanceState, ready int32) {
	w.T.Helper()
	w.Eventually(func(g Gomega) {
		w.kubernetes(g, e)
		g.Expect(w.Exists(e)).To(BeTrue())
		g.Expect(e.Status.ObservedGeneration).To(Equal(e.Generation))
		g.Expect(e.Status.State).To(Equal(state), e.Status.Message)
		g.Expect(e.Status.ReadyReplicas).To(Equal(ready), e.Status.Message)
	}).WithTimeout(2 * time.Minute).Should(Succeed())
}
