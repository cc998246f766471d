package crdschema_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// lostInGo are the invalid files whose mistake Go does not keep: a field that it
// does not know, or a value that it reads as absent.
var lostInGo = map[string]bool{
	"fallback-of-nothing.yaml": true,
	"fallback-unknown.yaml":    true,
	"fields-of-v1.yaml":        true,
	"misspelt-field.yaml":      true,
	"status-code-of-zero.yaml": true,
}

// What a real API server says of the same files is in the tests of the CRD.
func TestTheSchemaIsThatOfTheAPIServer(t *testing.T) {
	schema := load(NewWithT(t))
	for _, file := range files(t, "valid") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			spec, err := read(t, file)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(schema.Validate(spec)).To(BeEmpty())
			g.Expect(schema.Valid(spec)).To(BeTrue())
		})
	}
	for _, file := range files(t, "invalid") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			g := NewWithT(t)
			spec, err := read(t, file)
			if err != nil {
				return // No spec, and nothing to validate.
			}
			g.Expect(schema.Valid(spec)).To(Equal(lostInGo[filepath.Base(file)]), "%v", schema.Validate(spec))
		})
	}
}

func TestMessagesAreThoseOfTheSchema(t *testing.T) {
	const good = `serviceSelector: {matchLabels: {a: b}}`
	for what, test := range map[string]struct{ spec, want string }{
		"OpenAPI": {`{` + good + `, fallback: {page: {statusCode: 99}}}`,
			`spec.fallback.page.statusCode: Invalid value: 99: spec.fallback.page.statusCode in body should be greater than or equal to 400`},
		"a set": {`{` + good + `, namespaces: [a, a]}`,
			`spec.namespaces[1]: Duplicate value: "a"`},
		"CEL": {`{serviceSelector: {}}`,
			`spec.serviceSelector: Invalid value: an empty selector would make every Service of the cluster critical: name at least one label in matchLabels or matchExpressions`},
		"CEL between fields": {`{` + good + `, fallback: {podTemplate: {activation: Standby, publish: SelectorLabels}}}`,
			`spec.fallback.podTemplate: Invalid value: publish SelectorLabels needs activation OnDemand: a standby Pod with the application's labels would take its traffic before any outage`},
		"CEL of the whole": {`{` + good + `, namespaces: [a], namespaceSelector: {}}`,
			`spec: Invalid value: name the namespaces in namespaces, or select them with namespaceSelector, not both`},
	} {
		t.Run(what, func(t *testing.T) {
			g := NewWithT(t)
			spec := &criticalv2.CriticalServiceSpec{}
			g.Expect(yaml.UnmarshalStrict([]byte(test.spec), spec)).To(Succeed())
			g.Expect(load(g).Validate(spec).ToAggregate()).To(MatchError(test.want))
		})
	}
}

// Go writes 0.5ms as 500µs, which the schema does not allow in writing. The
// conversion must not lose a spec for it.
func TestADelayIsComparedByItsValue(t *testing.T) {
	for delay, valid := range map[time.Duration]bool{
		0: true, 1: true, 500 * time.Microsecond: true, 90 * time.Second: true, time.Hour: true,
		-1: false, time.Hour + 1: false, 1<<63 - 1: false,
	} {
		g := NewWithT(t)
		spec := &criticalv2.CriticalServiceSpec{ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}
		spec.ActivationDelay.Duration = delay
		g.Expect(load(g).Valid(spec)).To(Equal(valid), "activationDelay %s", delay)
		spec.ActivationDelay.Duration, spec.DeactivationDelay.Duration = 0, delay
		g.Expect(load(g).Valid(spec)).To(Equal(valid), "deactivationDelay %s", delay)
	}
}

func load(g Gomega) *crdschema.Schema {
	schema, err := crdschema.Load()
	g.Expect(err).NotTo(HaveOccurred())
	return schema
}

func files(t *testing.T, folder string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("../../../../controllers/criticalservice/stories/testdata/v2", folder, "*.yaml"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no files in testdata/v2/%s: %v", folder, err)
	}
	return found
}

// read reads a spec as the conversion does: what Go does not know is dropped.
func read(t *testing.T, file string) (*criticalv2.CriticalServiceSpec, error) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if data, err = yaml.YAMLToJSON([]byte(strings.TrimSpace(string(data)))); err != nil {
		t.Fatal(err)
	}
	object := &criticalv2.CriticalService{}
	return &object.Spec, json.Unmarshal(data, object)
}
