package stories_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	criticalv1 "github.com/critical-service/operator/api/v1"
	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
	"github.com/critical-service/operator/test/testenv"
)

func TestValidFilesAreAcceptedAsTheyAre(t *testing.T) {
	for _, file := range yamlFiles(t, "testdata/*/valid") {
		t.Run(nameOf(file), func(t *testing.T) {
			g := NewWithT(t)
			sent := readOne(t, file)
			stored := sent.DeepCopy()
			g.Expect(submit(t, stored)).To(Succeed())
			g.Expect(holds(stored.Object["spec"], sent.Object["spec"])).To(BeTrue(), "sent %v\nstored %v", sent.Object["spec"], stored.Object["spec"])
		})
	}
}

// holds reports whether a stored value is what was sent, with nothing changed but
// defaults added. An empty string may be left out.
func holds(stored, sent any) bool {
	fields, isObject := sent.(map[string]any)
	if !isObject {
		return fmt.Sprint(stored) == fmt.Sprint(sent)
	}
	got, _ := stored.(map[string]any)
	for name, value := range fields {
		if current, found := got[name]; (found || value != "") && !holds(current, value) {
			return false
		}
	}
	return true
}

// Every invalid file says in its first line which message must come: a file that
// is refused for another reason tests nothing.
func TestInvalidFilesAreRefusedForTheReasonTheyName(t *testing.T) {
	for _, file := range yamlFiles(t, "testdata/*/invalid") {
		t.Run(nameOf(file), func(t *testing.T) {
			want, found := strings.CutPrefix(firstLine(t, file), "# want: ")
			if !found || want == "" {
				t.Fatalf("the first line of %s must be `# want: ` and a message", file)
			}
			g := NewWithT(t)
			err := submit(t, readOne(t, file))
			g.Expect(err).To(HaveOccurred())
			g.Expect(testenv.Refusal(err)).To(ContainSubstring(want))
		})
	}
}

func TestDefaultsAreVisibleInTheStoredObject(t *testing.T) {
	const page = `{statusCode: 503, retryAfterSeconds: 30, replicas: 2, probes: {
		paths: [/healthz, /livez, /readyz, /health, /healthcheck, /ping],
		userAgents: [kube-probe/, ELB-HealthChecker/, GoogleHC/, Edge Health Probe, Envoy/HC, Consul Health Check]}}`
	for sentence, test := range map[string]struct{ sent, want string }{
		"A selector is all it takes: the built-in page answers at once.": {
			sent: `{serviceSelector: {matchLabels: {a: b}}}`,
			want: `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, activationDelay: 0s, deactivationDelay: 0s, fallback: {page: ` + page + `}}`,
		},
		"An empty page has the same defaults.": {
			sent: `{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {}}}`,
			want: `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, activationDelay: 0s, deactivationDelay: 0s, fallback: {page: ` + page + `}}`,
		},
		"A list of probes takes the place of the default list, an empty one too; the other list keeps its default.": {
			sent: `{serviceSelector: {matchLabels: {a: b}}, fallback: {page: {probes: {paths: [/up], userAgents: []}}}}`,
			want: `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, activationDelay: 0s, deactivationDelay: 0s, fallback: {page:
				{statusCode: 503, retryAfterSeconds: 30, replicas: 2, probes: {paths: [/up], userAgents: []}}}}`,
		},
		"A Pod is made on demand and published in a slice.": {
			sent: `{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {}}}`,
			want: `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, activationDelay: 0s, deactivationDelay: 0s, fallback: {podTemplate: {activation: OnDemand, publish: EndpointSlice}}}`,
		},
		"A standby Pod is published in a slice.": {
			sent: `{serviceSelector: {matchLabels: {a: b}}, fallback: {podTemplate: {name: x, activation: Standby}}}`,
			want: `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, activationDelay: 0s, deactivationDelay: 0s, fallback: {podTemplate: {name: x, activation: Standby, publish: EndpointSlice}}}`,
		},
		"A backup Service has no defaults.": {
			sent: `{serviceSelector: {matchLabels: {a: b}}, fallback: {service: {name: x}}, activationDelay: 5s}`,
			want: `{serviceSelector: {matchLabels: {a: b}}, precedence: Default, activationDelay: 5s, deactivationDelay: 0s, fallback: {service: {name: x}}}`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			object := newObject(t, test.sent)
			g.Expect(submit(t, object)).To(Succeed())
			g.Expect(encodeYAML(t, object.Object["spec"])).To(MatchYAML(test.want))
		})
	}
}

func TestTheDefaultPageOfTheCodeIsThatOfTheSchema(t *testing.T) {
	g := NewWithT(t)
	object := newObject(t, `{serviceSelector: {matchLabels: {a: b}}}`)
	g.Expect(submit(t, object)).To(Succeed())
	stored := &criticalv2.CriticalService{}
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, stored)).To(Succeed())
	g.Expect(stored.Spec.Fallback.Page).To(Equal(criticalv2.DefaultPage()))
}

// The API server holds an object to the schema of the version in which it is
// written, and not to that of the version in which it is stored. So a v2 spec in
// an annotation of a v1 object must not bring in what the schema of v2 refuses.
func TestNoAnnotationBringsInWhatTheSchemaRefuses(t *testing.T) {
	for _, file := range yamlFiles(t, "testdata/v2/invalid") {
		t.Run(nameOf(file), func(t *testing.T) {
			annotation, err := json.Marshal(readOne(t, file).Object["spec"])
			if err != nil {
				t.Fatal(err)
			}
			object := &criticalv1.CriticalService{}
			object.Name, object.Annotations = "storefront", map[string]string{criticalv1.AnnotationV2Spec: string(annotation)}
			object.Spec.MatchLabels = []criticalv1.LabelMatch{{Key: "role", Value: "frontend"}}
			NewWithT(t).Expect(submit(t, converted(t, object))).To(Succeed())
		})
	}
}

func TestTheConversionKeepsWhatTheSchemaAccepts(t *testing.T) {
	for _, file := range yamlFiles(t, "testdata/v2/valid") {
		t.Run(nameOf(file), func(t *testing.T) {
			g := NewWithT(t)
			object := readOne(t, file)
			g.Expect(submit(t, object)).To(Succeed())
			sent, spoke := &criticalv2.CriticalService{}, &criticalv1.CriticalService{}
			g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, sent)).To(Succeed())
			g.Expect(criticalv1.ConvertFromV2(sent, spoke)).To(Succeed())
			returned := converted(t, spoke)
			g.Expect(submit(t, returned)).To(Succeed())
			g.Expect(returned.Object["spec"]).To(Equal(normal(t, object).Object["spec"]))
		})
	}
}

// converted is a v1 object as the conversion makes a v2 one of it.
func converted(t *testing.T, from *criticalv1.CriticalService) *unstructured.Unstructured {
	t.Helper()
	schema, err := crdschema.Load()
	if err != nil {
		t.Fatal(err)
	}
	to := &criticalv2.CriticalService{}
	if err := criticalv1.ConvertToV2(from, to, schema.Valid); err != nil {
		t.Fatal(err)
	}
	to.ObjectMeta = metav1.ObjectMeta{Name: to.Name}
	return untyped(t, to)
}

// normal is an object as the API server has it after a client of v2 wrote it.
func normal(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	known := &criticalv2.CriticalService{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, known); err != nil {
		t.Fatal(err)
	}
	known.ObjectMeta = metav1.ObjectMeta{Name: known.Name}
	result := untyped(t, known)
	if err := submit(t, result); err != nil {
		t.Fatal(err)
	}
	return result
}

func untyped(t *testing.T, object *criticalv2.CriticalService) *unstructured.Unstructured {
	t.Helper()
	object.SetGroupVersionKind(criticalv2.CriticalServiceKind)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		t.Fatal(err)
	}
	delete(content, "status")
	return &unstructured.Unstructured{Object: content}
}

// submit sends an object as kubectl does, which asks for strict validation.
// Nothing is stored.
func submit(t *testing.T, object *unstructured.Unstructured) error {
	t.Helper()
	return client.WithFieldValidation(cluster.Client, metav1.FieldValidationStrict).Create(t.Context(), object, client.DryRunAll)
}

func newObject(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	content := map[string]any{}
	if err := yaml.Unmarshal([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": criticalv2.GroupVersion.String(), "kind": "CriticalService",
		"metadata": map[string]any{"name": "storefront"}, "spec": content,
	}}
}

func yamlFiles(t *testing.T, folder string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	return files
}

func nameOf(file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(file, "testdata/"), ".yaml")
}

func readOne(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	objects, err := testenv.ReadYAML(file)
	if err != nil || len(objects) != 1 {
		t.Fatalf("%s must hold one object: %v", file, err)
	}
	return objects[0]
}

func firstLine(t *testing.T, file string) string {
	t.Helper()
	opened, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	scanner := bufio.NewScanner(opened)
	scanner.Scan()
	return scanner.Text()
}
