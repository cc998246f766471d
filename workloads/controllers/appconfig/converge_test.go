package appconfig_test

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// The same story is lived again and again; each time another write of the operator goes wrong,
// or is its last. Every scene must be reached and the end must be the same.
func TestTheEndIsTheSameWhicheverWriteGoesWrong(t *testing.T) {
	t.Parallel()
	testenv.WhicheverWriteGoesWrong(t, 16, lived)
}

// The same story is lived by operators that see the cluster as it was, in another order, or with gaps.
func TestTheEndIsTheSameHoweverItIsSeen(t *testing.T) {
	t.Parallel()
	testenv.HoweverItIsSeen(t, lived)
}

var lived = testenv.SideBySide(func(t *testing.T, fate *testenv.Fate) string { return alone(t).live(fate) })

// live lives one story, from a first rollout over a page to a rollback, under an operator of its
// own, and describes the end.
func (w *world) live(fate *testenv.Fate) string {
	w.T.Helper()
	fate.Record(w.World, testenv.Laws{Manager: workloadsv1.ManagedBy, Writes: map[string][]string{
		"AppConfig":  {"status"},
		"Deployment": {"spec.template"},
	}}, &workloadsv2.AppConfigList{}, &corev1.ConfigMapList{}, &appsv1.DeploymentList{})
	w.start(fate.Befall)
	replace := func() { w.operator.Stop(w.T); w.start(fate.Follow) }
	fate.Succeed(w.T, replace)

	d := w.deployment("storefront")
	app := w.config()
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	first := app.Status.ConfigMapName
	w.Eventually(w.takes(d)).Should(Equal(first))
	w.rollOut(d)

	second := w.set(app, "info")
	w.Eventually(w.takes(d)).Should(Equal(second))
	w.rollOut(d)
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) {
		a.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent}
	})
	w.Eventually(w.configMaps).Should(ContainElement(app.Name))
	w.Eventually(func() map[string]string { return w.configMap(app.Name).Data }).Should(HaveKeyWithValue("LOG_LEVEL", "info"))

	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Version = "1.5" })
	w.Eventually(func() map[string]string { return w.configMap(second).Annotations }).Should(HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.5"))
	w.Expect(w.set(app, "debug")).To(Equal(first), "a rollback")
	w.Eventually(w.takes(d)).Should(Equal(first))
	w.rollOut(d)
	w.Eventually(func() map[string]string { return w.configMap(app.Name).Data }).Should(HaveKeyWithValue("LOG_LEVEL", "debug"))

	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Labels = nil })
	w.Eventually(w.configMaps).Should(HaveLen(2), "the page goes")
	for _, name := range w.configMaps() {
		w.Eventually(func() map[string]string { return w.configMap(name).Labels }).ShouldNot(HaveKey(criticalv2.LabelResponder))
	}
	w.Eventually(func() map[string]string { return w.configMap(first).Annotations }).Should(And(
		HaveKeyWithValue(workloadsv2.AnnotationRevision, "3"), HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.5")))
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	fate.AwaitRest(w.World, replace, func() *testenv.Operator { return w.operator.Settled(w.World) })
	return w.Describe(&workloadsv2.AppConfigList{}, &corev1.ConfigMapList{}, &appsv1.DeploymentList{})
}
