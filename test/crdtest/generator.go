package crdtest

import (
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// Generator declares objects by the schema of a definition, as Acto does: valid ones, of which a few fields were changed.
type Generator struct {
	schema   *crdschema.Version
	examples []map[string]any
	fields   []path
}

const (
	// mostChanges is how many fields of an example may be changed at once.
	mostChanges = 3
	// tries is how often a change is sought that the schema accepts.
	tries = 20
)

// NewGenerator is one of a definition, and of valid objects of it.
func NewGenerator(t *testing.T, definition Definition, examples ...string) *Generator {
	t.Helper()
	g := NewWithT(t)
	schema, err := crdschema.Compile(definition.YAML, definition.Version)
	g.Expect(err).NotTo(HaveOccurred())
	generator := &Generator{schema: schema, fields: leaves(definition.props(g), nil)}
	for _, example := range examples {
		var object map[string]any
		g.Expect(yaml.Unmarshal([]byte(example), &object)).To(Succeed())
		generator.examples = append(generator.examples, object)
	}
	return generator
}

// Next is another object, which the random numbers alone decide. Every second one is valid by the schema alone: what
// becomes of it is for the operator, or for other rules, to say.
func (g *Generator) Next(random *rand.Rand) map[string]any {
	object := runtime.DeepCopyJSON(g.examples[random.IntN(len(g.examples))])
	isValid := random.IntN(2) > 0
	for range 1 + random.IntN(mostChanges) {
		for range tries {
			changed := g.changed(object, random)
			if !isValid || len(g.schema.ValidateObject(runtime.DeepCopyJSON(changed))) == 0 {
				object = changed
				break
			}
		}
	}
	return object
}

// changed is an object with another value in one field.
func (g *Generator) changed(object map[string]any, random *rand.Rand) map[string]any {
	object = runtime.DeepCopyJSON(object)
	field := g.fields[random.IntN(len(g.fields))]
	values := append(field.samples(), odd...)
	// Most of what people get wrong is at least of the type that the schema names.
	if random.IntN(4) > 0 {
		values = slices.DeleteFunc(values, func(value any) bool { return !field.takes(value) })
	}
	field.set(object, runtime.DeepCopyJSONValue(values[random.IntN(len(values))]))
	return object
}

// takes reports whether a value is of the type of the field; the schema may refuse it all the same.
func (p path) takes(value any) bool {
	props := p[len(p)-1].props
	isOf := func(name string) bool { return props.Type == name || props.Type == "" }
	switch value.(type) {
	case string:
		return isOf("string")
	case bool:
		return isOf("boolean")
	case int64:
		return isOf("integer") || isOf("number")
	case float64:
		return isOf("number")
	case []any:
		return isOf("array")
	case map[string]any:
		return isOf("object")
	default:
		return false
	}
}
