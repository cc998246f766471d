package webapp_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// The same story is lived again and again; each time another write of the operator goes wrong,
// or is its last. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 14, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return alone(t).live(fate) })

// live lives one story, from the first rollout over another image to one Pod without a database, under an operator of its
// own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	fate.Record(w.World, testenv.Laws{Manager: workloadsv1.ManagedBy, Writes: map[string][]string{
		"WebApp": {"status"},
	}}, &workloadsv1.WebAppList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{},
		&criticalv2.ServiceFallbackList{}, &workloadsv1.DatabaseList{})
	w.start(fate.Befall)
	replace := func() { w.operator.Stop(w.T); w.start(fate.Follow) }
	fate.Succeed(w.T, replace)

	a := w.webApp(scaling, func(s *workloadsv1.WebAppSpec) { s.DBImage, s.DBSize = "mysql:8.0", "1Gi" })
	deployment, budget := w.deployment(a), &policyv1.PodDisruptionBudget{ObjectMeta: w.named(a.Name)}
	fallback, database := &criticalv2.ServiceFallback{ObjectMeta: w.named(a.Name)}, &workloadsv1.Database{ObjectMeta: w.named(a.Name + "-db")}
	w.Eventually(w.Exists).WithArguments(budget).Should(BeTrue())
	w.Eventually(w.Exists).WithArguments(fallback).Should(BeTrue())
	w.Eventually(w.Exists).WithArguments(database).Should(BeTrue())
	w.rollsOut(deployment)
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonRunning))

	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) {
		a.Spec.Image, a.Spec.DBSize, a.Spec.Fallback = "shop:2", "2Gi", &workloadsv1.ServiceProtection{None: &workloadsv1.NoFallback{}}
	})
	w.Eventually(w.image(deployment)).Should(Equal("shop:2"))
	w.Eventually(w.Exists).WithArguments(fallback).Should(BeFalse())
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonReplacing))
	w.rollsOut(deployment)
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonRunning))

	testenv.Update(w.World, a, func(a *workloadsv1.WebApp) {
		a.Spec.AutoScaleEnabled, a.Spec.Replicas, a.Spec.Fallback = false, new(int32(1)), nil
	})
	w.Eventually(w.replicas(deployment)).Should(Equal(int32(1)))
	w.Eventually(w.Exists).WithArguments(budget).Should(BeFalse())
	w.Eventually(w.Exists).WithArguments(fallback).Should(BeTrue())
	w.Eventually(func() []corev1.Container { w.Exists(deployment); return deployment.Spec.Template.Spec.InitContainers }).Should(BeEmpty())
	w.rollsOut(deployment)
	w.Eventually(w.reason(a, workloadsv1.ConditionReady)).Should(Equal(workloadsv1.ReasonRunning))
	w.Eventually(func() int32 { w.Exists(a); return a.Status.ReadyReplicas }).Should(Equal(int32(1)))
	fate.AwaitRest(w.World, replace, func() *testenv.Operator { return w.operator.Settled(w.World) })
	return w.Describe(&workloadsv1.WebAppList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{},
		&criticalv2.ServiceFallbackList{}, &workloadsv1.DatabaseList{})
}

// image reads that of the application.
func (w *world) image(d *appsv1.Deployment) func() string {
	return func() string {
		w.Expect(w.Exists(d)).To(BeTrue())
		return d.Spec.Template.Spec.Containers[0].Image
	}
}
