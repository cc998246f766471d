package appconfig_test

import (
	"context"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/testenv"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
	"github.com/critical-service/operator/workloads/controllers/appconfig"
)

// world is a test's own namespace, and the operator that watches it.
type world struct {
	*testenv.World
	operator *testenv.Operator
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := alone(t)
	w.start()
	return w
}

// alone is a world without an operator yet, whose test does not run beside others.
func alone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t)}
	t.Cleanup(func() {
		if w.operator != nil {
			if t.Failed() {
				t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
			}
			w.operator.Stop(t)
		}
		w.DeleteAll(&workloadsv2.AppConfig{}, &corev1.ConfigMap{}, &appsv1.Deployment{}, &appsv1.StatefulSet{})
	})
	return w
}

// start starts an operator that sees the world's namespace only.
func (w *world) start(changes ...func(*testenv.Program)) {
	w.T.Helper()
	options := appconfig.Options{Namespaces: []string{w.Namespace}}
	program := testenv.Program{
		Cache: cache.Options{ByObject: appconfig.CacheByObject(options)},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error { return appconfig.Setup(ctx, mgr, options) },
	}
	for _, change := range changes {
		change(&program)
	}
	w.operator = w.Cluster.Start(w.T, program)
}

// settings are those of an AppConfig with one.
func settings(level string) workloadsv2.Settings { return workloadsv2.Settings{"LOG_LEVEL": level} }

// config makes the AppConfig "shop".
func (w *world) config(changes ...func(*workloadsv2.AppConfig)) *workloadsv2.AppConfig {
	w.T.Helper()
	app := &workloadsv2.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       workloadsv2.AppConfigSpec{AppName: "shop", Configuration: workloadsv2.Configuration{Settings: settings("debug")}},
	}
	for _, change := range changes {
		change(app)
	}
	w.Create(app)
	return app
}

// set changes the settings, and waits until that is done.
func (w *world) set(app *workloadsv2.AppConfig, level string) (configMap string) {
	w.T.Helper()
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Settings = settings(level) })
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	return app.Status.ConfigMapName
}

// reason is that of Ready, once the operator has seen the newest spec.
func (w *world) reason(app *workloadsv2.AppConfig) func() string {
	return func() string {
		w.Expect(w.Exists(app)).To(BeTrue())
		if ready := meta.FindStatusCondition(app.Status.Conditions, workloadsv2.ConditionReady); ready != nil && app.Status.ObservedGeneration == app.Generation {
			return ready.Reason
		}
		return ""
	}
}

// deployment makes a Deployment that uses an AppConfig.
func (w *world) deployment(name string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	w.T.Helper()
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{workloadsv2.LabelAppConfig: "shop"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: testenv.PodSpec()},
		},
	}
	for _, change := range changes {
		change(d)
	}
	w.Create(d)
	w.rollOut(d)
	return d
}

// rollOut does what the controller of Deployments does, with Pods that are ready at once.
func (w *world) rollOut(d *appsv1.Deployment) {
	w.T.Helper()
	w.Eventually(func() error {
		w.Expect(w.Exists(d)).To(BeTrue())
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
		return w.Cluster.Client.Status().Update(w.T.Context(), d)
	}).Should(Succeed())
}

// takes is the ConfigMap whose variables the container of a workload takes.
func (w *world) takes(workload client.Object) func() string {
	return func() string {
		w.Expect(w.Exists(workload)).To(BeTrue())
		var containers []corev1.Container
		switch workload := workload.(type) {
		case *appsv1.Deployment:
			containers = workload.Spec.Template.Spec.Containers
		case *appsv1.StatefulSet:
			containers = workload.Spec.Template.Spec.Containers
		}
		if from := containers[0].EnvFrom; len(from) > 0 {
			return from[0].ConfigMapRef.Name
		}
		return ""
	}
}

// configMaps are the names of those in the namespace.
func (w *world) configMaps() []string {
	var list corev1.ConfigMapList
	w.Expect(w.Cluster.Client.List(w.T.Context(), &list, client.InNamespace(w.Namespace))).To(Succeed())
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	return names
}

func (w *world) configMap(name string) *corev1.ConfigMap {
	w.T.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
	w.Expect(w.Exists(config)).To(BeTrue(), name)
	return config
}

// writes are what the operator sent, but for events.
func (w *world) writes() []testenv.Request {
	return w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() != "events" })
}

// statefulSet makes a StatefulSet that uses an AppConfig.
func (w *world) statefulSet(name string) *appsv1.StatefulSet {
	w.T.Helper()
	labels := map[string]string{"app": name}
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{workloadsv2.LabelAppConfig: "shop"}},
		Spec: appsv1.StatefulSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: testenv.PodSpec()},
		},
	}
	w.Create(set)
	return set
}
