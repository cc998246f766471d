package v1_test

import (
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
	"github.com/critical-service/operator/test/crdtest"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

func definition(t *testing.T, plural, version string, never ...string) crdtest.Definition {
	t.Helper()
	data, err := os.ReadFile("../../config/crd/bases/mycrd.com_" + plural + ".yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return crdtest.Definition{YAML: data, Version: version, Never: never}
}

func databases(t *testing.T) crdtest.Definition {
	return definition(t, "databases", "v1", ".spec.fallback.podTemplate.namespace")
}

// One object that Go cannot read would keep the operator from all of its kind.
func TestWhatIsStoredCanBeRead(t *testing.T) {
	t.Run("Database", func(t *testing.T) {
		const spec = `{apiVersion: mycrd.com/v1, kind: Database, metadata: {name: a}, spec: {type: mongo`
		crdtest.CheckDecodes[workloadsv1.Database](t, databases(t), spec+`, storage: {size: 1Gi}}}`,
			spec+`, fallback: {page: {}}}}`, spec+`, fallback: {podTemplate: {name: a}}}}`, spec+`, fallback: {service: {name: a}}}}`, spec+`, fallback: {none: {}}}}`)
	})
	t.Run("AppConfig of v1", func(t *testing.T) {
		crdtest.CheckDecodes[workloadsv1.AppConfig](t, definition(t, "appconfigs", "v1"),
			`{apiVersion: mycrd.com/v1, kind: AppConfig, metadata: {name: a}, spec: {appName: a}}`)
	})
	t.Run("AppConfig", func(t *testing.T) {
		crdtest.CheckDecodes[workloadsv2.AppConfig](t, definition(t, "appconfigs", "v2"),
			`{apiVersion: mycrd.com/v2, kind: AppConfig, metadata: {name: a}, spec: {appName: a, configuration: {}}}`)
	})
}

// The cache keeps the spec of a Database.
func TestWhatAUserWritesIsBounded(t *testing.T) {
	crdtest.CheckBounds(t, databases(t),
		".spec.pod.nodeSelector.cpu", // A rule bounds the keys and the values.
	)
}

func TestQuantities(t *testing.T) {
	read := func(g Gomega, amount string) (workloadsv1.Quantities, error) {
		var object workloadsv1.Database
		g.Expect(yaml.Unmarshal([]byte(`{spec: {pod: {resources: {limits: {memory: `+amount+`}}}}}`), &object)).To(Succeed(), "whatever is stored")
		return object.Spec.Pod.Resources.Limits, object.Validate()
	}
	for amount, canonical := range map[string]string{
		"1Gi": "1Gi", "500m": "500m", "0.5": "500m", "2": "2", `"2"`: "2", "1e3": "1k", "1E": "1E", "9223372036854775807": "9223372036854775807", "0": "0",
	} {
		t.Run(amount, func(t *testing.T) {
			g := NewWithT(t)
			limits, err := read(g, amount)
			g.Expect(err).NotTo(HaveOccurred())
			parsed, err := limits.Parse()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(parsed.Memory().String()).To(Equal(canonical))
		})
	}
	// Of the first of these the library would make a number of a billion digits.
	for _, amount := range []string{`"1e-999999999"`, `"1e999999999"`, `"1e1.5"`, `"1e.5"`, `"1E1."`, `""`, "big", "-1", "[1]", "{a: b}", "true"} {
		t.Run(amount, func(t *testing.T) {
			g := NewWithT(t)
			limits, err := read(g, amount)
			g.Expect(err).To(MatchError(And(ContainSubstring("spec.pod.resources.limits.memory: "), ContainSubstring("is not a quantity: write for example"))))
			parsed, err := limits.Parse()
			g.Expect(err).To(HaveOccurred())
			g.Expect(parsed).To(BeEmpty())
		})
	}
}

// The schema and Go admit the same texts. The rules of the size must not read others: even in
// the API server that can take minutes.
func TestThePatternOfQuantities(t *testing.T) {
	g := NewWithT(t)
	g.Expect(strings.Count(string(databases(t).YAML), workloadsv1.QuantityPattern)).To(Equal(2+3), "limits and requests, and the rules of the size")

	schema, err := crdschema.Compile(databases(t).YAML, "v1")
	g.Expect(err).NotTo(HaveOccurred())
	for size, valid := range map[string]bool{"1Gi": true, "1e9": true, "1e009": false, "1e-999999999": false, "+1Gi": false} {
		errs := schema.ValidateObject(map[string]any{"metadata": map[string]any{"name": "a"}, "spec": map[string]any{
			"type": "mongo", "storage": map[string]any{"size": size},
		}})
		if valid {
			g.Expect(errs).To(BeEmpty(), size)
		} else {
			g.Expect(errs.ToAggregate()).To(MatchError(ContainSubstring("size must be a quantity")), size)
		}
	}
}
