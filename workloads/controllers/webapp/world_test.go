package webapp_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/webapp"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// served is a core that is there.
type served struct{}

func (served) Available() bool          { return true }
func (served) Changed() <-chan struct{} { return nil }

// world is a test's own namespace, and the operator that watches it.
type world struct {
	*testenv.World
	operator *testenv.Operator
}

// start makes a world, and starts an operator that sees its namespace only.
func start(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := alone(t)
	w.start()
	return w
}

// alone is a world whose test does not run beside others.
func alone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t)}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
		}
		w.lint()
		w.operator.Stop(t)
		w.Expect(w.operator.Log(w.Namespace)).NotTo(ContainSubstring("forbidden"), "the permissions suffice")
		w.DeleteAll(
			&workloadsv1.WebApp{}, &workloadsv1.Database{}, &criticalv2.ServiceFallback{}, &appsv1.Deployment{},
			&policyv1.PodDisruptionBudget{}, &autoscalingv2.HorizontalPodAutoscaler{},
		)
	})
	return w
}

// start starts an operator that sees the world's namespace only.
func (w *world) start(changes ...func(*testenv.Program)) {
	w.T.Helper()
	options := webapp.Options{Image: "workloads:1", Namespaces: []string{w.Namespace}}
	program := testenv.Program{
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&workloadsv2.AppConfig{}: {}}},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			var err error
			if options.Fallbacks, err = fallback.NewWatch(mgr, served{}, options.Namespaces); err != nil {
				return err
			}
			return webapp.Setup(ctx, mgr, options)
		},
	}
	for _, change := range changes {
		change(&program)
	}
	w.operator = w.Cluster.Start(w.T, program)
}

// reasons are what the API promises (api/v1/conditions.go).
var reasons = map[string][]string{
	"Ready/True": {workloadsv1.ReasonRunning},
	"Ready/False": {
		workloadsv1.ReasonStarting, workloadsv1.ReasonReplacing, workloadsv1.ReasonSuspended, workloadsv1.ReasonCreateDenied, workloadsv1.ReasonNameTaken,
		workloadsv1.ReasonDatabaseTypeUnknown, workloadsv1.ReasonDatabaseTypeChanged,
		workloadsv1.ReasonConfigMissing, workloadsv1.ReasonImagePullFailing, workloadsv1.ReasonPodFailing, workloadsv1.ReasonUnschedulable,
	},
	"Protected/False":    {workloadsv1.ReasonFallbackNone, workloadsv1.ReasonFallbackPending, workloadsv1.ReasonNameTaken},
	"DatabaseReady/True": {workloadsv1.ReasonNoDatabase, workloadsv1.ReasonRunning},
	"DatabaseReady/False": {
		workloadsv1.ReasonDatabasePending, workloadsv1.ReasonDatabaseTypeUnknown, workloadsv1.ReasonDatabaseTypeChanged, workloadsv1.ReasonNameTaken,
	},
	"ScalingActive/True":  {workloadsv1.ReasonTrafficKnown},
	"ScalingActive/False": {workloadsv1.ReasonTrafficUnknown, workloadsv1.ReasonAutoscalerPresent},
}

// lint holds the status of every WebApp to the API conventions.
func (w *world) lint() {
	w.T.Helper()
	var all workloadsv1.WebAppList
	w.Expect(w.Cluster.Client.List(context.WithoutCancel(w.T.Context()), &all, client.InNamespace(w.Namespace))).To(Succeed())
	for i := range all.Items {
		a := &all.Items[i]
		if len(a.Status.Conditions) > 0 {
			w.Expect(testenv.LintConditions(a.Generation, a.Status.ObservedGeneration, a.Status.Conditions, reasons)).To(BeEmpty())
		}
	}
}

// webApp makes one of the name shop.
func (w *world) webApp(changes ...func(*workloadsv1.WebAppSpec)) *workloadsv1.WebApp {
	w.T.Helper()
	a := &workloadsv1.WebApp{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: workloadsv1.WebAppSpec{
		AppName: "shop", Image: "shop:1", Replicas: new(int32(2)),
	}}
	for _, change := range changes {
		change(&a.Spec)
	}
	w.Create(a)
	return a
}

func scaling(spec *workloadsv1.WebAppSpec) { spec.AutoScaleEnabled, spec.TrafficThreshold = true, 100 }

func (w *world) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: w.Namespace, Name: name}
}

// reason reads that of a condition.
func (w *world) reason(a *workloadsv1.WebApp, kind string) func() string {
	return func() string {
		w.Expect(w.Exists(a)).To(BeTrue())
		if found := meta.FindStatusCondition(a.Status.Conditions, kind); found != nil {
			return found.Reason
		}
		return ""
	}
}

// deployment waits for that of a WebApp.
func (w *world) deployment(a *workloadsv1.WebApp) *appsv1.Deployment {
	w.T.Helper()
	made := &appsv1.Deployment{ObjectMeta: w.named(a.Name)}
	w.Eventually(func() bool { return w.Exists(made) }).Should(BeTrue())
	return made
}

// replicas reads how many Pods the Deployment is to have.
func (w *world) replicas(d *appsv1.Deployment) func() int32 {
	return func() int32 {
		w.Expect(w.Exists(d)).To(BeTrue())
		return *d.Spec.Replicas
	}
}

// rollsOut does what the controller of Deployments does.
func (w *world) rollsOut(d *appsv1.Deployment) {
	w.T.Helper()
	w.Eventually(func() error {
		if err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
		return w.Cluster.Client.Status().Update(w.T.Context(), d)
	}).Should(Succeed())
}

// podOf makes a Pod as the Deployment's ReplicaSet does.
func (w *world) podOf(d *appsv1.Deployment, name string) *corev1.Pod {
	w.T.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: d.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: d.Name + "-5d4f", UID: "1", Controller: new(true)}},
		},
		Spec: testenv.PodSpec(),
	}
	pod.Spec.Containers[0].Name, pod.Spec.Containers[0].Image = "app", d.Spec.Template.Spec.Containers[0].Image
	w.Create(pod)
	return pod
}

// writes are what the operator asked the API server to change, but for events.
func (w *world) writes() []testenv.Request {
	return w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() != "events" })
}
