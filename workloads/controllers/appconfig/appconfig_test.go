package appconfig_test

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

func TestSettingsBecomeAnImmutableConfigMap(t *testing.T) {
	w := newWorld(t)
	app := w.config(func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Version = "1.4" })
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))

	w.Expect(app.Status.ConfigMapName).To(Equal("shop-" + app.Status.Hash[:10]))
	config := w.configMap(app.Status.ConfigMapName)
	w.Expect(config.Data).To(Equal(map[string]string{"LOG_LEVEL": "debug"}), "the settings, and nothing else")
	w.Expect(*config.Immutable).To(BeTrue())
	w.Expect(metav1.IsControlledBy(config, app)).To(BeTrue(), "it goes with the AppConfig")
	w.Expect(config.Annotations).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.4"))
	w.Eventually(w.EventsOf(app, "ConfigMapCreated")).Should(HaveLen(1))
	w.Expect(testenv.LintConditions(app.Generation, app.Status.ObservedGeneration, app.Status.Conditions, map[string][]string{
		"Ready/True": {workloadsv2.ReasonUpToDate},
	})).To(BeEmpty())
}

func TestThreeAreKeptAndTheOldSpecGivesTheOldName(t *testing.T) {
	w := newWorld(t)
	app := w.config()
	var names []string
	for _, level := range []string{"1", "2", "3", "4", "5"} {
		names = append(names, w.set(app, level))
	}
	w.Eventually(w.configMaps).Should(ConsistOf(names[2:]))

	w.Expect(w.set(app, "3")).To(Equal(names[2]))
	w.Expect(w.set(app, "6")).NotTo(BeElementOf(names))
	w.Eventually(w.configMaps).Should(ConsistOf(names[2], names[4], app.Status.ConfigMapName), "after the rollback the old one was the newest")
}

func TestOneRolloutForEachChangeOfThoseThatUseIt(t *testing.T) {
	w := newWorld(t)
	users := []client.Object{w.deployment("storefront"), w.deployment("till"), w.statefulSet("stock")}
	bystander := w.deployment("blog", func(d *appsv1.Deployment) { d.Labels = nil })
	app := w.config()
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	for _, user := range users {
		w.Eventually(w.takes(user)).Should(Equal(app.Status.ConfigMapName))
		w.Expect(user.GetGeneration()).To(BeEquivalentTo(2), "one rollout")
	}
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) {
		a.Spec.Configuration.Settings = workloadsv2.Settings{"LOG_LEVEL": "info", "COLOUR": "blue", "SIZE": "9"}
	})
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	for _, user := range users {
		w.Eventually(w.takes(user)).Should(Equal(app.Status.ConfigMapName))
	}
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Version = "1.5" })
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.operator.Settled(w.World)
	for _, user := range users {
		w.Expect(w.Exists(user)).To(BeTrue())
		w.Expect(user.GetGeneration()).To(BeEquivalentTo(3), "one more, though three settings changed, and none for another version")
		w.Expect(w.EventsOf(app, "WorkloadUpdated")()).To(ContainElement(HaveField("Related.Name", user.GetName())))
	}
	w.Expect(w.takes(bystander)()).To(BeEmpty())
	w.Expect(bystander.Generation).To(BeEquivalentTo(1))
	w.Expect(w.configMap(app.Status.ConfigMapName).Annotations).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.5"))
}

// What the garbage collector does, the test does: there is none here.
func TestWhatAWorkloadTakesOutlivesItsAppConfig(t *testing.T) {
	w := newWorld(t)
	d := w.deployment("storefront")
	app := w.config()
	w.Eventually(w.takes(d)).ShouldNot(BeEmpty())
	taken := w.takes(d)()
	w.Eventually(func() []metav1.OwnerReference { return w.configMap(taken).OwnerReferences }).Should(ConsistOf(
		HaveField("UID", app.UID), Equal(metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "storefront", UID: d.UID}),
	))
	w.Delete(app)
	again := w.config()
	w.Eventually(func() bool { return w.operator.IsDue("appconfig", w.Namespace) }).Should(BeTrue())
	w.Expect(w.reason(again)()).To(BeEmpty(), "it waits, and says nothing that a person would have to do")
	// Again and again, as the garbage collector: an operator that has not seen yet that the first is gone
	// adds the reference again.
	w.Eventually(func() string {
		testenv.Update(w.World, w.configMap(taken), func(c *corev1.ConfigMap) {
			c.OwnerReferences = slices.DeleteFunc(c.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == app.UID })
		})
		return w.reason(again)()
	}).Should(Equal(workloadsv2.ReasonUpToDate))
	w.Expect(again.Status.ConfigMapName).To(Equal(taken))
	w.Eventually(func() bool { return metav1.IsControlledBy(w.configMap(taken), again) }).Should(BeTrue(), "it is taken over")
	w.Expect(w.takes(d)()).To(Equal(taken))
	w.Expect(w.EventsOf(again, workloadsv2.ReasonNameTaken)()).To(BeEmpty())
}

func TestAWorkloadThatComesLaterTakesTheSettings(t *testing.T) {
	w := newWorld(t)
	app := w.config()
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	later := w.deployment("storefront")
	w.Eventually(w.takes(later)).Should(Equal(app.Status.ConfigMapName))
}

func TestInASettledWorldNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	app := w.config(func(a *workloadsv2.AppConfig) { a.Labels = map[string]string{"mycrd.com/responder": "content"} })
	d := w.deployment("storefront")
	w.Eventually(w.takes(d)).ShouldNot(BeEmpty())
	w.rollOut(d)
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.operator.Settled(w.World)
	before := len(w.writes())
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Labels["team"] = "web" })
	testenv.Update(w.World, d, func(d *appsv1.Deployment) { d.Labels["team"] = "web" })
	w.operator.Settled(w.World)
	w.Expect(w.writes()).To(HaveLen(before))
}

func TestWhatIsInUseIsNotDeleted(t *testing.T) {
	w := newWorld(t)
	app := w.config()
	first := w.set(app, "0")
	w.Create(&criticalv2.ServiceFallback{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: criticalv2.ServiceFallbackSpec{Services: []string{"shop"}, ProtectionSpec: criticalv2.ProtectionSpec{
			Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{ConfigMapName: first}},
		}},
	})
	second := w.set(app, "1")
	w.Create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "by-hand"}, Spec: mounting(second)})
	third := w.set(app, "2")
	var kept []string
	for _, level := range []string{"3", "4", "5"} {
		kept = append(kept, w.set(app, level))
	}
	w.Eventually(w.configMaps).Should(ConsistOf(append(kept, first, second)), "not %s", third)
	w.operator.Settled(w.World)
	w.Expect(w.configMaps()).To(ContainElements(first, second))
}

func mounting(configMap string) corev1.PodSpec {
	spec := testenv.PodSpec()
	spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
	}}}
	return spec
}

func TestTheLabelMakesAPageOfAStableName(t *testing.T) {
	w := newWorld(t)
	app := w.config()
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.Expect(w.configMaps()).To(ConsistOf(app.Status.ConfigMapName))

	page := workloadsv2.Settings{"index.html": "<h1>Back soon</h1>"}
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) {
		a.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent}
		a.Spec.Configuration.Settings = page
	})
	w.Eventually(w.configMaps).Should(ContainElement("shop"))
	w.Eventually(func() map[string]string { return w.configMap("shop").Data }).Should(HaveKey("index.html"))
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	for _, name := range w.configMaps() {
		w.Eventually(func() map[string]string { return w.configMap(name).Labels }).Should(HaveKeyWithValue(criticalv2.LabelResponder, criticalv2.ResponderContent))
	}

	// A user's edit is undone.
	testenv.Update(w.World, w.configMap("shop"), func(c *corev1.ConfigMap) {
		c.Data["other.html"], c.BinaryData = "x", map[string][]byte{"logo.png": {1}}
	})
	w.Eventually(func() int { return len(w.configMap("shop").Data) + len(w.configMap("shop").BinaryData) }).Should(Equal(1))

	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Labels = nil })
	w.Eventually(w.configMaps).ShouldNot(ContainElement("shop"))
	for _, name := range w.configMaps() {
		w.Eventually(func() map[string]string { return w.configMap(name).Labels }).ShouldNot(HaveKey(criticalv2.LabelResponder))
	}
}

func TestANameThatIsTakenIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Data: map[string]string{"mine": "x"}})
	app := w.config(func(a *workloadsv2.AppConfig) {
		a.Labels = map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent}
	})
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonNameTaken))
	w.Expect(meta.IsStatusConditionTrue(app.Status.Conditions, workloadsv2.ConditionStalled)).To(BeTrue())
	w.Eventually(w.EventsOf(app, workloadsv2.ReasonNameTaken)).Should(HaveLen(1))
	taken := w.configMap("shop")
	w.Expect(taken.Data).To(Equal(map[string]string{"mine": "x"}))
	w.Expect(taken.Labels).To(BeEmpty())
	w.Expect(app.Status.ConfigMapName).NotTo(BeEmpty(), "workloads can take the settings all the same")

	w.Delete(taken)
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.Expect(w.configMap("shop").Data).To(HaveKey("LOG_LEVEL"))
}

func TestWhatAnotherManagerHasSetStays(t *testing.T) {
	w := newWorld(t)
	d := w.deployment("storefront", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "my-own"}},
		}}
	})
	app := w.config()
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonFieldConflict))
	w.Expect(meta.FindStatusCondition(app.Status.Conditions, workloadsv2.ConditionReady).Message).To(ContainSubstring("Deployment storefront (container web, set by "))
	w.Expect(w.takes(d)()).To(Equal("my-own"))

	testenv.Update(w.World, d, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].EnvFrom = nil })
	w.Eventually(w.takes(d)).Should(Equal(app.Status.ConfigMapName), "what the message says helps")
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
}

func TestAQuotaIsSaidAndWaitedFor(t *testing.T) {
	w := newWorld(t)
	d := w.deployment("storefront")
	app := w.config()
	w.Eventually(w.takes(d)).ShouldNot(BeEmpty())
	before := w.takes(d)()
	quota := w.Forbid("count/configmaps")
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) { a.Spec.Configuration.Settings = settings("info") })
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonWriteDenied))
	w.Expect(meta.FindStatusCondition(app.Status.Conditions, workloadsv2.ConditionReady).Message).To(ContainSubstring("exceeded quota"))
	w.Expect(app.Status.ConfigMapName).To(Equal(before))
	w.Expect(w.takes(d)()).To(Equal(before), "what ran goes on running")

	w.Delete(quota)
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.Eventually(w.takes(d)).Should(Equal(app.Status.ConfigMapName))
}

// 256 KiB of settings are in the API server, and in no cache.
func TestTheLargestAppConfig(t *testing.T) {
	w := newWorld(t)
	app := w.config(func(a *workloadsv2.AppConfig) {
		a.Spec.Configuration.Settings = workloadsv2.Settings{"index.html": strings.Repeat("😀", 262144-10)}
	})
	w.Eventually(w.reason(app)).Should(Equal(workloadsv2.ReasonUpToDate))
	w.Expect(w.configMap(app.Status.ConfigMapName).Data["index.html"]).To(HaveLen(4 * (262144 - 10)))
}
