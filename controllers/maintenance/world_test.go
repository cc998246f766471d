package maintenance_test

import (
	"context"
	"maps"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance"
	"github.com/critical-service/operator/internal/protection"
	"github.com/critical-service/operator/test/testenv"
)

// world is a test's own namespace with the Service "shop", whose Deployment has 3
// replicas, and the operator that watches it.
type world struct {
	*testenv.World
	operator *testenv.Operator
	service  *corev1.Service
	// workload names what is taken away: the Deployment, unless a test says otherwise.
	workload criticalv2.WorkloadReplicas
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	return newWorldAlone(t)
}

// newWorldAlone is one whose test does not run beside others by itself.
func newWorldAlone(t *testing.T) *world {
	t.Helper()
	w := &world{World: cluster.NewWorld(t), workload: criticalv2.WorkloadReplicas{Deployment: "shop"}}
	t.Cleanup(func() {
		if w.operator != nil {
			if t.Failed() {
				t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
			}
			w.stop()
		}
		w.DeleteAll(&appsv1.Deployment{}, &appsv1.StatefulSet{}, &rbacv1.RoleBinding{}, &rbacv1.Role{})
	})
	w.service = w.Service("shop")
	w.PublishEndpoints(w.service)
	w.Create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: w.service.Spec.Selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.service.Spec.Selector}, Spec: testenv.PodSpec()},
		},
	})
	return w
}

// stateful is the world whose workload is a StatefulSet, beside the Deployment of the same name.
func (w *world) stateful() {
	w.T.Helper()
	w.workload = criticalv2.WorkloadReplicas{StatefulSet: "shop"}
	w.Create(&appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: w.service.Spec.Selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.service.Spec.Selector}, Spec: testenv.PodSpec()},
		},
	})
}

// start starts an operator that sees the world's namespace only, and of that what
// production's caches hold.
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
	here := map[string]cache.Config{w.Namespace: {}}
	byObject := map[client.Object]cache.ByObject{
		&corev1.Pod{}:                {Namespaces: here, Label: having(w, criticalv2.LabelFallbackFor)},
		&corev1.Service{}:            {Namespaces: here},
		&discoveryv1.EndpointSlice{}: {Namespaces: here},
	}
	maps.Copy(byObject, maintenance.CacheByObject([]string{w.Namespace}))
	program := testenv.Program{
		Cache: cache.Options{ByObject: byObject},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			slices := func(object client.Object) []string { return []string{object.GetLabels()[discoveryv1.LabelServiceName]} }
			w.Expect(mgr.GetFieldIndexer().IndexField(ctx, &discoveryv1.EndpointSlice{}, protection.IndexServiceOfSlice, slices)).To(Succeed())
			err := mgr.GetFieldIndexer().IndexField(ctx, &criticalv2.Maintenance{}, protection.IndexServicesOfMaintenance,
				func(object client.Object) []string { return object.(*criticalv2.Maintenance).Spec.Services })
			w.Expect(err).NotTo(HaveOccurred())
			return maintenance.Setup(mgr, maintenance.Options{})
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

func having(w *world, key string) labels.Selector {
	requirement, err := labels.NewRequirement(key, selection.Exists, nil)
	w.Expect(err).NotTo(HaveOccurred())
	return labels.NewSelector().Add(*requirement)
}

// option changes a Maintenance before it is made.
type option func(*criticalv2.Maintenance)

func until(at time.Time) option {
	return func(m *criticalv2.Maintenance) { m.Spec.Until = new(metav1.NewTime(at)) }
}

// restoring says that the workload gets a number of replicas back.
func (w *world) restoring(replicas int32) option {
	return func(m *criticalv2.Maintenance) {
		m.Spec.Restore = w.workload.DeepCopy()
		m.Spec.Restore.Replicas = replicas
	}
}

func named(name string) option { return func(m *criticalv2.Maintenance) { m.Name = name } }

// announce announces a maintenance of the Service that ends in an hour, unless an option
// says else.
func (w *world) announce(options ...option) *criticalv2.Maintenance {
	w.T.Helper()
	m := &criticalv2.Maintenance{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec:       criticalv2.MaintenanceSpec{Services: []string{"shop"}, Message: "We move house."},
	}
	until(inAnHour())(m)
	for _, change := range options {
		change(m)
	}
	w.Create(m)
	return m
}

// takenAway announces a maintenance for which the application is scaled from 3 to 0, as the
// plugin does it.
func (w *world) takenAway(options ...option) *criticalv2.Maintenance {
	w.T.Helper()
	m := w.announce(append([]option{w.restoring(3)}, options...)...)
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreOwed))
	w.scale(0)
	return m
}

// ends lets the end of a maintenance be now.
func (w *world) ends(m *criticalv2.Maintenance) {
	w.T.Helper()
	testenv.Update(w.World, m, until(over()))
}

// permit gives the operator what the plugin gives it: the one scale and the one
// Maintenance.
func (w *world) permit() {
	w.T.Helper()
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{w.workload.Resource() + "/scale"}, ResourceNames: []string{"shop"}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{"mycrd.com"}, Resources: []string{"maintenances"}, ResourceNames: []string{"shop/" + w.workload.String()}, Verbs: []string{criticalv2.VerbRestore}},
	}})
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "shop"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: testenv.OperatorNamespace, Name: "critical-service-operator"}},
	})
}

// reason reads the reason of a condition of a Maintenance.
func (w *world) reason(m *criticalv2.Maintenance, condition string) func() string {
	return func() string {
		w.Expect(w.Exists(m)).To(BeTrue())
		if found := meta.FindStatusCondition(m.Status.Conditions, condition); found != nil {
			return found.Reason
		}
		return ""
	}
}

func (w *world) active(m *criticalv2.Maintenance) func() string {
	return w.reason(m, criticalv2.MaintenanceActive)
}

func (w *world) restored(m *criticalv2.Maintenance) func() string {
	return w.reason(m, criticalv2.MaintenanceRestored)
}

// replicas is how many the workload is to have.
func (w *world) replicas() int32 {
	scale := &autoscalingv1.Scale{}
	w.Expect(w.Cluster.Client.SubResource("scale").Get(w.T.Context(), w.scaled(), scale)).To(Succeed())
	return scale.Spec.Replicas
}

func (w *world) scale(replicas int32) {
	w.Expect(w.Cluster.Client.SubResource("scale").Update(w.T.Context(), w.scaled(),
		client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
		}))).To(Succeed())
}

// scaled is the workload as an object.
func (w *world) scaled() client.Object {
	shop := metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}
	if w.workload.StatefulSet != "" {
		return &appsv1.StatefulSet{ObjectMeta: shop}
	}
	return &appsv1.Deployment{ObjectMeta: shop}
}

// comeBack lets the application answer again.
func (w *world) comeBack() {
	w.T.Helper()
	w.MakeReady(w.Pod("shop-1", w.service))
	w.PublishEndpoints(w.service)
}

// scalings are the operator's writes to scales.
func (w *world) scalings() []testenv.Request {
	return w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Writes() && r.Resource() == "deployments/scale" })
}

// sinceAnHour lets what is known of the workloads of some Maintenances be known since an hour.
func (w *world) sinceAnHour(maintenances ...*criticalv2.Maintenance) {
	w.T.Helper()
	for _, m := range maintenances {
		meta.FindStatusCondition(m.Status.Conditions, criticalv2.MaintenanceRestored).LastTransitionTime = metav1.NewTime(time.Now().Add(-time.Hour))
		w.Expect(w.Cluster.Client.Status().Update(w.T.Context(), m)).To(Succeed())
	}
}

func over() time.Time     { return time.Now().Add(-time.Second) }
func inAnHour() time.Time { return time.Now().Add(time.Hour) }

// revoke takes back what permit gave.
func (w *world) revoke() {
	w.T.Helper()
	w.Delete(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}})
	w.Delete(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}})
	w.Eventually(func() bool {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: "system:serviceaccount:" + testenv.OperatorNamespace + ":critical-service-operator",
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: "mycrd.com", Resource: "maintenances", Verb: criticalv2.VerbRestore, Namespace: w.Namespace, Name: "shop/" + w.workload.String(),
			},
		}}
		w.Expect(w.Cluster.Client.Create(w.T.Context(), review)).To(Succeed())
		return review.Status.Allowed
	}).Should(BeFalse(), "the API server follows the Role in a moment")
}

// recurring repeats a maintenance in windows of an hour.
func recurring(schedule, zone string) option {
	return func(m *criticalv2.Maintenance) {
		m.Spec.Until = nil
		m.Spec.Recurring = &criticalv2.Recurring{Schedule: schedule, TimeZone: zone, Duration: metav1.Duration{Duration: time.Hour}}
	}
}

// daily is a schedule that begins at the same time of each day: that of now, or later.
func daily(later time.Duration) string {
	return time.Now().UTC().Add(later).Format("4 15 * * *")
}

func berlin(w *world) *time.Location {
	zone, err := time.LoadLocation("Europe/Berlin")
	w.Expect(err).NotTo(HaveOccurred())
	return zone
}
