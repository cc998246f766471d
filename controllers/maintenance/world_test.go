package maintenance_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance"
	"github.com/critical-service/operator/test/testenv"
)

// world is a test's own namespace with the Service "shop", whose Deployment was
// scaled from 3 to 0, and the operator that watches it.
type world struct {
	*testenv.World
	operator *testenv.Operator
	service  *corev1.Service
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{World: cluster.NewWorld(t)}
	t.Cleanup(func() {
		if w.operator != nil {
			if t.Failed() {
				t.Logf("the operator's log:\n%s", w.operator.Log(w.Namespace))
			}
			w.stop()
		}
		ctx := context.WithoutCancel(t.Context())
		for _, kind := range []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}, &rbacv1.RoleBinding{}, &rbacv1.Role{}} {
			w.Expect(w.Cluster.Client.DeleteAllOf(ctx, kind, client.InNamespace(w.Namespace))).To(Succeed())
		}
	})
	w.service = w.Service("shop")
	w.PublishEndpoints(w.service)
	w.Create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: w.service.Spec.Selector},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.service.Spec.Selector}, Spec: testenv.PodSpec()},
		},
	})
	return w
}

// start starts an operator that sees the world's namespace only, and of that what
// production's caches hold.
func (w *world) start(interfere ...func(testenv.Request) testenv.Verdict) {
	w.T.Helper()
	here := map[string]cache.Config{w.Namespace: {}}
	program := testenv.Program{
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.ConfigMap{}:          {Namespaces: here, Label: having(w, criticalv2.LabelResponder)},
			&corev1.Pod{}:                {Namespaces: here, Label: having(w, criticalv2.LabelFallbackFor)},
			&corev1.Service{}:            {Namespaces: here},
			&discoveryv1.EndpointSlice{}: {Namespaces: here},
		}},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			return maintenance.Setup(ctx, mgr, maintenance.Options{})
		},
	}
	for _, interfere := range interfere {
		program.Interfere = interfere
	}
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

// announce announces a maintenance that ends at a time, with what else is said of it.
func (w *world) announce(until time.Time, data ...string) *corev1.ConfigMap {
	w.T.Helper()
	config := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "shop-maintenance", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderMaintenance},
		},
		Data: map[string]string{
			"service": "shop", "message": "We move house.", "until": until.Format(time.RFC3339),
			"workload": "deployments.apps/shop", "replicas": "3",
		},
	}
	for i := 0; i < len(data); i += 2 {
		config.Data[data[i]] = data[i+1]
	}
	w.Create(config)
	return config
}

// permit gives the operator what the plugin gives it: the one scale and the one
// ConfigMap.
func (w *world) permit() {
	w.T.Helper()
	w.Create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "shop-maintenance"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, ResourceNames: []string{"shop"}, Verbs: []string{"get", "patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"shop-maintenance"}, Verbs: []string{"patch", "delete"}},
	}})
	w.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "shop-maintenance"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "shop-maintenance"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: testenv.OperatorNamespace, Name: "critical-service-operator"}},
	})
}

// replicas is how many the Deployment is to have.
func (w *world) replicas() int32 {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}}
	w.Expect(w.Exists(deployment)).To(BeTrue())
	return *deployment.Spec.Replicas
}

func (w *world) scale(replicas int32) {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}}
	w.Expect(w.Cluster.Client.SubResource("scale").Update(w.T.Context(), deployment,
		client.WithSubResourceBody(&autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: replicas},
		}))).To(Succeed())
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

// over is a time that has passed, and soon one that will have passed in a moment.
func over() time.Time { return time.Now().Add(-time.Second) }
func soon() time.Time { return time.Now().Add(2 * time.Second) }
