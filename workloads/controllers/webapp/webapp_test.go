package webapp_test

import (
	"context"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
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

// start starts an operator that sees the world's namespace only.
func start(t *testing.T) *testenv.World {
	t.Helper()
	w := cluster.NewWorld(t)
	options := webapp.Options{Image: "workloads:1", Namespaces: []string{w.Namespace}}
	operator := cluster.Start(t, testenv.Program{
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{&workloadsv2.AppConfig{}: {}}},
		Setup: func(ctx context.Context, mgr ctrl.Manager) error {
			var err error
			if options.Fallbacks, err = fallback.NewWatch(mgr, served{}, options.Namespaces); err != nil {
				return err
			}
			return webapp.Setup(ctx, mgr, options)
		},
	})
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the operator's log:\n%s", operator.Log(""))
		}
		operator.Stop(t)
	})
	return w
}

func TestTheSevenFieldsOfTheDocumentMakeAnApplication(t *testing.T) {
	w := start(t)
	a := &workloadsv1.WebApp{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: workloadsv1.WebAppSpec{
		AppName: "shop", Image: "shop:1", DBImage: "mysql:8.0", Replicas: new(int32(2)), DBSize: "1Gi", AutoScaleEnabled: true, TrafficThreshold: 100,
	}}
	w.Create(a)
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.Namespace, Name: name} }
	deployment, service, database := &appsv1.Deployment{ObjectMeta: named("shop")}, &corev1.Service{ObjectMeta: named("shop")}, &workloadsv1.Database{ObjectMeta: named("shop-db")}
	for _, object := range []client.Object{
		deployment, service, database, &policyv1.PodDisruptionBudget{ObjectMeta: named("shop")}, &criticalv2.ServiceFallback{ObjectMeta: named("shop")},
	} {
		w.Eventually(func() bool { return w.Exists(object) }).Should(BeTrue(), "%T", object)
		w.Expect(metav1.IsControlledBy(object, a)).To(BeTrue())
	}
	w.Expect(*deployment.Spec.Replicas).To(Equal(int32(2)))
	w.Expect(deployment.Spec.Template.Spec.InitContainers).To(HaveLen(1), "the meter")
	w.Expect(database.Spec.Type).To(Equal(workloadsv1.DatabaseMySQL))
	w.Expect(database.Spec.Storage.Size).To(Equal("1Gi"))
	w.Expect(service.Spec.Ports[0].TargetPort.StrVal).To(Equal("meter"))
	w.Eventually(func() *metav1.Condition {
		w.Expect(w.Exists(a)).To(BeTrue())
		return meta.FindStatusCondition(a.Status.Conditions, workloadsv1.ConditionScalingActive)
	}).Should(HaveField("Reason", workloadsv1.ReasonTrafficUnknown))
	w.Expect(a.Status.DesiredReplicas).To(Equal(int32(2)))
}
