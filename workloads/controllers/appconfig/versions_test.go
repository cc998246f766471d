package appconfig_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/test/testenv"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// object reads one from YAML, as kubectl does.
func object(g Gomega, text string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	g.Expect(yaml.Unmarshal([]byte(text), &object.Object)).To(Succeed())
	return object
}

// as reads an AppConfig in a version, as `kubectl get appconfigs.VERSION.mycrd.com` does.
func (w *world) as(version, name string) *unstructured.Unstructured {
	w.T.Helper()
	read := &unstructured.Unstructured{}
	read.SetAPIVersion("mycrd.com/" + version)
	read.SetKind("AppConfig")
	w.Expect(w.Cluster.Client.Get(w.T.Context(), types.NamespacedName{Namespace: w.Namespace, Name: name}, read)).To(Succeed())
	return read
}

func (w *world) expectSpec(read map[string]any, want string) {
	w.T.Helper()
	text, err := yaml.Marshal(read["spec"])
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(text).To(MatchYAML(want))
}

// The exercise of the source document: a definition with two versions, of which v2 is stored
// and v1 served, and a webhook that converts between them. docs/appconfig.md walks through it.
func TestTheExerciseOfTheSourceDocument(t *testing.T) {
	w := newWorld(t)
	stored := func(name string) map[string]any {
		held, err := w.Cluster.Stored(t.Context(), "mycrd.com/appconfigs/"+w.Namespace+"/"+name)
		w.Expect(err).NotTo(HaveOccurred())
		return held
	}

	// 1. Two versions: both are served, and v2 is the one that is stored.
	definition := &apiextensionsv1.CustomResourceDefinition{}
	w.Expect(w.Cluster.Client.Get(t.Context(), client.ObjectKey{Name: "appconfigs.mycrd.com"}, definition)).To(Succeed())
	w.Expect(definition.Spec.Conversion.Strategy).To(Equal(apiextensionsv1.WebhookConverter))
	w.Expect(definition.Status.StoredVersions).To(Equal([]string{"v2"}))

	// 2. One of each is created.
	w.Create(object(w, `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: first}, spec: {appName: shop, config: {LOG_LEVEL: debug, COLOUR: blue}}}`))
	w.Create(object(w, `{apiVersion: mycrd.com/v2, kind: AppConfig, metadata: {name: second},
		spec: {appName: till, configuration: {settings: {LOG_LEVEL: info}, version: "1.4"}}}`))

	// 3. Each is read as the other.
	w.expectSpec(w.as("v2", "first").Object, `{appName: shop, configuration: {settings: {LOG_LEVEL: debug, COLOUR: blue}}}`)
	w.expectSpec(w.as("v1", "second").Object, `{appName: till, config: {LOG_LEVEL: info}}`)
	w.Expect(w.as("v1", "second").GetAnnotations()).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.4"))

	// 4. Both are stored as v2.
	for _, name := range []string{"first", "second"} {
		w.Expect(stored(name)["apiVersion"]).To(Equal("mycrd.com/v2"))
	}
	w.expectSpec(stored("first"), `{appName: shop, configuration: {settings: {LOG_LEVEL: debug, COLOUR: blue}}}`)

	// 5. A client of v1 changes what it knows, and the version stays.
	old := w.as("v1", "second")
	w.Expect(unstructured.SetNestedField(old.Object, "warn", "spec", "config", "LOG_LEVEL")).To(Succeed())
	patchSpec(w, old)
	w.expectSpec(w.as("v2", "second").Object, `{appName: till, configuration: {settings: {LOG_LEVEL: warn}, version: "1.4"}}`)

	// 6. A list is in one version, whatever its objects were written in.
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("mycrd.com/v1")
	list.SetKind("AppConfigList")
	w.Expect(w.Cluster.Client.List(t.Context(), list, client.InNamespace(w.Namespace))).To(Succeed())
	w.Expect(list.Items).To(HaveLen(2))
	for i := range list.Items {
		w.Expect(list.Items[i].GetAPIVersion()).To(Equal("mycrd.com/v1"))
	}

	// 7. A version that there is not is not served.
	none := object(w, `{apiVersion: mycrd.com/v3, kind: AppConfig, metadata: {name: third}, spec: {appName: shop}}`)
	none.SetNamespace(w.Namespace)
	w.Expect(w.Cluster.Client.Create(t.Context(), none)).To(MatchError(ContainSubstring(`no matches for kind "AppConfig" in version "mycrd.com/v3"`)))
}

// patchSpec writes the spec of an object, whose status the operator may have changed meanwhile.
func patchSpec(w *world, changed *unstructured.Unstructured) {
	w.T.Helper()
	patch, err := yaml.Marshal(map[string]any{"spec": changed.Object["spec"]})
	w.Expect(err).NotTo(HaveOccurred())
	data, err := yaml.YAMLToJSON(patch)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.Cluster.Client.Patch(w.T.Context(), changed, client.RawPatch(types.MergePatchType, data))).To(Succeed())
}

// No schema refuses an annotation, and a conversion must not fail.
func TestAnAnnotationThatIsNoVersionStaysAndIsReported(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("v", 64)
	w.Create(object(w, `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: shop, annotations: {mycrd.com/appconfig-version: `+long+`}},
		spec: {appName: shop, config: {A: "1"}}}`))
	app := &workloadsv2.AppConfig{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "shop"}}
	message := func() string {
		w.Expect(w.reason(app)()).To(Or(BeEmpty(), Equal(workloadsv2.ReasonUpToDate)))
		if ready := meta.FindStatusCondition(app.Status.Conditions, workloadsv2.ConditionReady); ready != nil {
			return ready.Message
		}
		return ""
	}
	w.Eventually(message).Should(ContainSubstring("mycrd.com/appconfig-version has no effect"))
	w.Expect(app.Spec.Configuration.Version).To(BeEmpty())

	old := w.as("v1", "shop")
	w.Expect(old.GetAnnotations()).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, long))
	w.Expect(unstructured.SetNestedField(old.Object, "2", "spec", "config", "A")).To(Succeed())
	patchSpec(w, old)
	w.Expect(w.as("v1", "shop").GetAnnotations()).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, long), "a client of v1 finds what it wrote")

	old = w.as("v1", "shop")
	w.Expect(w.Cluster.Client.Patch(t.Context(), old, client.RawPatch(types.MergePatchType,
		[]byte(`{"metadata":{"annotations":{"mycrd.com/appconfig-version":"1.4"}}}`)))).To(Succeed())
	w.expectSpec(w.as("v2", "shop").Object, `{appName: shop, configuration: {settings: {A: "2"}, version: "1.4"}}`)
	w.Eventually(message).Should(And(ContainSubstring("has the settings"), Not(ContainSubstring("has no effect"))))

	// An annotation is no generation.
	testenv.Update(w.World, app, func(a *workloadsv2.AppConfig) {
		a.Annotations = map[string]string{workloadsv2.AnnotationVersion: "stray"}
	})
	w.Eventually(message).Should(ContainSubstring("in v2 set spec.configuration.version"))
	w.Expect(w.as("v1", "shop").GetAnnotations()).To(HaveKeyWithValue(workloadsv2.AnnotationVersion, "1.4"))
}

// Server-side apply converts what each manager owns to the version in which it wrote.
func TestManagersOfBothVersionsShareAnAppConfig(t *testing.T) {
	w := newWorld(t)
	apply := func(manager, text string) {
		applied := object(w, text)
		applied.SetNamespace(w.Namespace)
		w.Expect(w.Cluster.Client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner(manager), client.ForceOwnership)).To(Succeed())
	}
	apply("old", `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: shop}, spec: {appName: shop, config: {A: "1"}}}`)
	apply("new", `{apiVersion: mycrd.com/v2, kind: AppConfig, metadata: {name: shop}, spec: {appName: shop, configuration: {settings: {B: "2"}, version: "1.4"}}}`)
	apply("old", `{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: shop}, spec: {appName: shop, config: {A: "3"}}}`)
	w.expectSpec(w.as("v2", "shop").Object, `{appName: shop, configuration: {settings: {A: "3", B: "2"}, version: "1.4"}}`)
}

func TestTheAPIServerRefusesInvalidAppConfigsWithASentence(t *testing.T) {
	submit := func(t *testing.T, file string) error {
		t.Helper()
		objects, err := testenv.ReadYAML(file)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		objects[0].SetNamespace(metav1.NamespaceDefault)
		return client.WithFieldValidation(cluster.Client, metav1.FieldValidationStrict).Create(t.Context(), objects[0], client.DryRunAll)
	}
	files := func(kind string) []string {
		found, err := filepath.Glob("../../api/v2/testdata/*/" + kind + "/*.yaml")
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(found).NotTo(BeEmpty())
		return found
	}
	for _, file := range files("invalid") {
		t.Run(file, func(t *testing.T) {
			g := NewWithT(t)
			data, err := os.ReadFile(file)
			g.Expect(err).NotTo(HaveOccurred())
			line, _, _ := strings.Cut(string(data), "\n")
			want, found := strings.CutPrefix(line, "# want: ")
			g.Expect(found).To(BeTrue())
			err = submit(t, file)
			g.Expect(err).To(HaveOccurred())
			g.Expect(testenv.Refusal(err)).To(ContainSubstring(want))
		})
	}
	for _, file := range files("valid") {
		t.Run(file, func(t *testing.T) {
			NewWithT(t).Expect(submit(t, file)).To(Succeed())
		})
	}
}
