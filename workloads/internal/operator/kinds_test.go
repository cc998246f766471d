package operator_test

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// What the kinds do is tested in their packages. Here they run in the process, with its settings and permissions.
func TestADatabaseIsBornProtected(t *testing.T) {
	w := newWorld(t)
	p := w.start("DATABASE_IMAGE_MONGO=registry.example.com/mongo:4.0")
	w.Eventually(p.Ready).Should(Succeed())
	d := &workloadsv1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.team, Name: "mongo-db"},
		Spec:       workloadsv1.DatabaseSpec{Type: workloadsv1.DatabaseMongo},
	}
	w.create(d)

	labels := client.MatchingLabels{workloadsv1.LabelDatabase: d.Name}
	var pods corev1.PodList
	w.Eventually(func() []corev1.Pod {
		w.Expect(cluster.Client.List(t.Context(), &pods, client.InNamespace(w.team), labels)).To(Succeed())
		return pods.Items
	}).Should(HaveLen(1))
	w.Expect(pods.Items[0].Spec.Containers[0].Image).To(Equal("registry.example.com/mongo:4.0"))
	// The definitions of the core are installed here, beside those of this operator.
	protection := &criticalv2.ServiceFallback{}
	w.Eventually(func() error {
		return cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(d), protection)
	}).Should(Succeed())
	w.Expect(metav1.IsControlledBy(protection, d)).To(BeTrue())

	w.Expect(p.Log.String()).NotTo(ContainSubstring("forbidden"), "nothing is denied")
}

func TestAnAppConfigIsServedInBothVersions(t *testing.T) {
	w := newWorld(t)
	p := w.start()
	w.Eventually(p.Ready).Should(Succeed())
	old := &workloadsv1.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.team, Name: "shop"},
		Spec:       workloadsv1.AppConfigSpec{AppName: "shop", Config: workloadsv2.Settings{"LOG_LEVEL": "debug"}},
	}
	w.create(old)

	app := &workloadsv2.AppConfig{}
	w.Eventually(func() string {
		w.Expect(cluster.Client.Get(t.Context(), client.ObjectKeyFromObject(old), app)).To(Succeed())
		return app.Status.ConfigMapName
	}).ShouldNot(BeEmpty())
	w.Expect(app.Spec.Configuration.Settings).To(Equal(workloadsv2.Settings{"LOG_LEVEL": "debug"}))
	config := &corev1.ConfigMap{}
	w.Expect(cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: w.team, Name: app.Status.ConfigMapName}, config)).To(Succeed())
	w.Expect(config.Data).To(Equal(map[string]string{"LOG_LEVEL": "debug"}))

	w.Expect(p.Log.String()).NotTo(ContainSubstring("forbidden"), "nothing is denied")
}

// v2 is what is stored, and what kubectl asks for: docs/spec/appconfig.md.
func TestWithoutTheOperatorOnlyRequestsAsV1Fail(t *testing.T) {
	w := newWorld(t)
	p := w.start()
	w.Eventually(p.Ready).Should(Succeed())
	key := client.ObjectKey{Namespace: w.team, Name: "till"}
	old := &workloadsv1.AppConfig{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Spec:       workloadsv1.AppConfigSpec{AppName: "till", Config: workloadsv2.Settings{"LOG_LEVEL": "debug"}},
	}
	w.Eventually(func() error { return cluster.Client.Create(t.Context(), old) }).Should(Succeed())
	p.Stop()

	app := &workloadsv2.AppConfig{}
	w.Expect(cluster.Client.Get(t.Context(), key, app)).To(Succeed())
	w.Expect(cluster.Client.List(t.Context(), &workloadsv2.AppConfigList{}, client.InNamespace(w.team))).To(Succeed())
	change := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"configuration":{"settings":{"LOG_LEVEL":"warn"}}}}`))
	w.Expect(cluster.Client.Patch(t.Context(), app, change)).To(Succeed())
	w.Expect(app.Spec.Configuration.Settings).To(Equal(workloadsv2.Settings{"LOG_LEVEL": "warn"}))

	fails := MatchError(ContainSubstring("conversion webhook for mycrd.com/v2, Kind=AppConfig failed"))
	w.Expect(cluster.Client.Get(t.Context(), key, old)).To(fails)
	another := old.DeepCopy()
	another.ObjectMeta = metav1.ObjectMeta{Namespace: w.team, Name: "another"}
	w.Expect(cluster.Client.Create(t.Context(), another)).To(MatchError(ContainSubstring("conversion webhook for mycrd.com/v1, Kind=AppConfig failed")))
	applied := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "mycrd.com/v2", "kind": "AppConfig", "metadata": map[string]any{"namespace": key.Namespace, "name": key.Name},
		"spec": map[string]any{"configuration": map[string]any{"version": "1.4"}},
	}}
	err := cluster.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("team"))
	// It succeeds on Kubernetes 1.34, and fails on 1.37; what is between is not tested.
	if since, failed := testenv.IsSince(cluster.Admin, "1.35"); since {
		w.Expect(err).To(MatchError(ContainSubstring("conversion webhook")), "v1 has a field manager, whose fields are converted")
	} else {
		w.Expect(errors.Join(err, failed)).NotTo(HaveOccurred())
	}

	w.Expect(cluster.Client.Delete(t.Context(), app)).To(Succeed())
}
