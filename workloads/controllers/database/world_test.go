package database_test

import (
	"context"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// world is a test's own namespace, and the operator that watches it.
type world struct {
	*testenv.World
	operator *testenv.Operator
	core     *core
}

// core is whether the core's kind is served, so far as the operator knows.
type core struct {
	mu        sync.Mutex
	available bool
	changed   chan struct{}
}

// Available implements fallback.Kind.
func (c *core) Available() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.available
}

// Changed implements fallback.Kind.
func (c *core) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

func (c *core) is(available bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.available = available
	close(c.changed)
	c.changed = make(chan struct{})
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return alone(t)
}

// alone is a world whose test does not run beside others.
func alone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t), core: &core{available: true, changed: make(chan struct{})}}
	t.Cleanup(func() {
		if w.operator != nil {
			if t.Failed() {
				t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
			}
			w.lint()
			w.stop()
		}
		w.DeleteAll(&workloadsv1.Database{}, &criticalv2.ServiceFallback{}, &corev1.Secret{}, &corev1.PersistentVolumeClaim{})
	})
	return w
}

// start starts an operator that sees the world's namespace only.
func (w *world) start(interfere ...func(testenv.Request) testenv.Verdict) {
	w.T.Helper()
	w.startWith(func(program *testenv.Program) {
		for _, interfere := range interfere {
			program.Interfere = interfere
		}
	})
}

func (w *world) startWith(change func(*testenv.Program)) {
	w.T.Helper()
	options := database.Options{
		ImageMongo: "mongo:4.0", ImageMySQL: "mysql:8.0", ImagePostgres: "postgres:16", Namespaces: []string{w.Namespace},
	}
	program := testenv.Program{
		Cache: cache.Options{ByObject: database.CacheByObject(options)},
		Setup: func(_ context.Context, mgr ctrl.Manager) error {
			var err error
			if options.Fallbacks, err = fallback.NewWatch(mgr, w.core, options.Namespaces); err != nil {
				return err
			}
			return database.Setup(mgr, options)
		},
	}
	change(&program)
	w.operator = w.Cluster.Start(w.T, program)
}

func (w *world) stop() {
	w.T.Helper()
	w.operator.Stop(w.T)
	w.operator = nil
}

// reasons are what the documentation promises.
var reasons = map[string][]string{
	"Ready/True": {workloadsv1.ReasonRunning, workloadsv1.ReasonStorageDenied},
	"Ready/False": {
		workloadsv1.ReasonStarting, workloadsv1.ReasonReplacing, workloadsv1.ReasonSuspended, workloadsv1.ReasonCreateDenied,
		workloadsv1.ReasonNameTaken, workloadsv1.ReasonSecretInvalid, workloadsv1.ReasonImagePullFailing,
		workloadsv1.ReasonPodFailing, workloadsv1.ReasonUnschedulable, workloadsv1.ReasonStoragePending,
		workloadsv1.ReasonStorageTerminating, workloadsv1.ReasonNodeLost,
	},
	"Protected/True": {criticalv2.ReasonStandbyReady},
	"Protected/False": {
		workloadsv1.ReasonFallbackUnavailable, workloadsv1.ReasonFallbackNone, workloadsv1.ReasonFallbackPending,
		workloadsv1.ReasonNameTaken, workloadsv1.ReasonCreateDenied, criticalv2.ReasonResponderFailing,
	},
}

// lint holds the status of every Database to the API conventions.
func (w *world) lint() {
	w.T.Helper()
	var all workloadsv1.DatabaseList
	w.Expect(w.Cluster.Client.List(context.WithoutCancel(w.T.Context()), &all, client.InNamespace(w.Namespace))).To(Succeed())
	for i := range all.Items {
		d := &all.Items[i]
		w.Expect(testenv.LintConditions(d.Generation, d.Status.ObservedGeneration, d.Status.Conditions, reasons)).To(BeEmpty())
	}
}

// option changes a Database before it is made.
type option func(*workloadsv1.Database)

func named(name string) option { return func(d *workloadsv1.Database) { d.Name = name } }

func withStorage(d *workloadsv1.Database) { d.Spec.Storage = &workloadsv1.DatabaseStorage{Size: "1Gi"} }

func withSecret(name string) option {
	return func(d *workloadsv1.Database) { d.Spec.Credentials.SecretName = name }
}

// database makes the Database of the document.
func (w *world) database(options ...option) *workloadsv1.Database {
	w.T.Helper()
	d := &workloadsv1.Database{ObjectMeta: metav1.ObjectMeta{Name: "mongo-db"}, Spec: workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo}}
	for _, option := range options {
		option(d)
	}
	w.Create(d)
	return d
}

// running makes a Database, and does what kubelet does with its Pod.
func (w *world) running(options ...option) *workloadsv1.Database {
	w.T.Helper()
	d := w.database(options...)
	w.Eventually(w.Exists).WithArguments(w.pod(d)).Should(BeTrue())
	w.MakeReady(w.pod(d))
	w.Eventually(w.ready(d)).Should(Equal(workloadsv1.ReasonRunning))
	return d
}

func (w *world) pod(d *workloadsv1.Database) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: d.Name}}
}

func (w *world) service(d *workloadsv1.Database) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: d.Name}}
}

func (w *world) claim(d *workloadsv1.Database) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: d.ClaimName()}}
}

func (w *world) secret(name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
}

func (w *world) fallback(d *workloadsv1.Database) *criticalv2.ServiceFallback {
	return &criticalv2.ServiceFallback{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: d.Name}}
}

// condition reads a condition of a Database.
func (w *world) condition(d *workloadsv1.Database, kind string) metav1.Condition {
	w.T.Helper()
	w.Expect(w.Exists(d)).To(BeTrue())
	if found := meta.FindStatusCondition(d.Status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

func (w *world) ready(d *workloadsv1.Database) func() string {
	return func() string { return w.condition(d, workloadsv1.ConditionReady).Reason }
}

func (w *world) protected(d *workloadsv1.Database) func() string {
	return func() string { return w.condition(d, workloadsv1.ConditionProtected).Reason }
}

// uid reads which object there is; empty where there is none.
func (w *world) uid(object client.Object) func() string {
	return func() string {
		if !w.Exists(object) {
			return ""
		}
		return string(object.GetUID())
	}
}

// cores says what the core says of a Service.
func (w *world) cores(d *workloadsv1.Database, state criticalv2.ServiceState, reason string) {
	w.T.Helper()
	made := w.fallback(d)
	w.Eventually(func() error {
		if err := w.Cluster.Client.Get(w.T.Context(), client.ObjectKeyFromObject(made), made); err != nil {
			return err
		}
		made.Status.ObservedGeneration = made.Generation
		made.Status.Details = []criticalv2.ServiceStatus{{
			Namespace: w.Namespace, Name: d.Name, State: state, Reason: reason, Message: "It is " + string(state) + ".", Since: metav1.Now(),
		}}
		return w.Cluster.Client.Status().Update(w.T.Context(), made)
	}).Should(Succeed())
}

// writes are what the operator asked the API server to change, but for events.
func (w *world) writes() []testenv.Request {
	return w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() != "events" })
}
