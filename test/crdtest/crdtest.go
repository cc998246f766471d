// Package crdtest holds the schemas of CustomResourceDefinitions against the Go types of their
// kinds: what the API server stores, a client must be able to read. One object that it cannot
// read keeps a watch from every other object of the kind.
package crdtest

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/internal/operator/webhook/crdschema"
)

// odd are values that some schema may accept and some Go type refuse, and beside them ordinary
// ones, without which a field would never be reached.
var odd = []any{
	nil, true, "", "a", "/a", "0 2 * * SUN", "In", "Exists",
	// Quantities.
	"1", "1Gi", "500m", "-1", "+1", ".5", "1.", "1e2", "1e1.5", "1e.5", "1E1.", "1e+", "1e", "1 Gi", "1ki",
	// Times.
	"2026-11-23T12:00:00Z", "2026-11-23T12:00:00.5+01:00", "2026-11-23t12:00:00z", "2026-11-23T12:00:00z", "2026-11-23T12:00:00x5Z",
	"2026-11-23T12:00:00+99:99", "2026-11-23T12:00:00Zt", "2026-11-23T12:00:00", "2026-11-23", "0000-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
	// Durations.
	"90s", "2h", "1.5h", ".5h", "1d", "-1h", "99999999h", "1us", "0",
	// Numbers.
	int64(0), int64(1), int64(80), int64(500), int64(-1), int64(math.MaxInt32) + 1, int64(math.MinInt32) - 1, int64(math.MaxInt64), int64(math.MinInt64),
	0.5, 1e15, 1e30, -1e30,
	[]any{}, map[string]any{},
}

// Definition is a version of a CustomResourceDefinition in YAML.
type Definition struct {
	YAML    []byte
	Version string
	// Never are fields that a rule forbids altogether.
	Never []string
}

// CheckDecodes puts odd values into every field of the spec of valid objects. What the schema
// accepts, Go must decode; and for each field the schema must accept something. The status is
// left out, because only the operator writes it, from the same types.
func CheckDecodes[T any](t *testing.T, definition Definition, examples ...string) {
	t.Helper()
	g := NewWithT(t)
	schema, err := crdschema.Compile(definition.YAML, definition.Version)
	g.Expect(err).NotTo(HaveOccurred())
	for _, path := range leaves(definition.props(g), nil) {
		t.Run(path.String(), func(t *testing.T) {
			g := NewWithT(t)
			accepted := 0
			for _, example := range examples {
				for _, value := range append(path.samples(), odd...) {
					var object map[string]any
					g.Expect(yaml.Unmarshal([]byte(example), &object)).To(Succeed())
					path.set(object, value)
					if len(schema.ValidateObject(runtime.DeepCopyJSON(object))) > 0 {
						continue
					}
					accepted++
					stored, err := json.Marshal(object)
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(json.Unmarshal(stored, new(T))).To(Succeed(), "the schema accepts %#v", value)
				}
			}
			if slices.Contains(definition.Never, path.String()) {
				g.Expect(accepted).To(BeZero())
			} else {
				g.Expect(accepted).To(BeNumerically(">", 0), "none of the examples reaches it")
			}
		})
	}
}

// CheckBounds finds what a user may write without an end: a text without a greatest length, a
// list or a map without a greatest number. Exempt are paths that a rule bounds.
func CheckBounds(t *testing.T, definition Definition, exempt ...string) {
	t.Helper()
	g := NewWithT(t)
	unbounded := []string{}
	for _, path := range leaves(definition.props(g), nil) {
		for i, step := range path {
			if step.isUnbounded() {
				unbounded = append(unbounded, path[:i+1].String())
			}
		}
	}
	slices.Sort(unbounded)
	g.Expect(slices.Compact(unbounded)).To(ConsistOf(exempt))
}

func (d *Definition) props(g Gomega) *apiextensionsv1.JSONSchemaProps {
	var read apiextensionsv1.CustomResourceDefinition
	g.Expect(yaml.UnmarshalStrict(d.YAML, &read)).To(Succeed())
	version := slices.IndexFunc(read.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == d.Version })
	g.Expect(version).To(BeNumerically(">=", 0), "no such version")
	return read.Spec.Versions[version].Schema.OpenAPIV3Schema
}

// path leads to a field.
type path []step

// step goes to a member of an object, of a map (under some key), or of a list (the first).
type step struct {
	key    string
	inList bool
	props  *apiextensionsv1.JSONSchemaProps
}

// String writes a path as errors do.
func (p path) String() string {
	var text strings.Builder
	for _, step := range p {
		if step.inList {
			text.WriteString("[]")
		} else {
			text.WriteString("." + step.key)
		}
	}
	return text.String()
}

// keyOfMap is a key that every map takes.
const keyOfMap = "cpu"

// leaves are the paths to all fields that have no fields of their own.
func leaves(props *apiextensionsv1.JSONSchemaProps, to path) []path {
	next := func(key string, inList bool, member *apiextensionsv1.JSONSchemaProps) []path {
		return leaves(member, append(slices.Clone(to), step{key, inList, member}))
	}
	var found []path
	for _, key := range slices.Sorted(maps.Keys(props.Properties)) {
		if member := props.Properties[key]; len(to) > 0 || key == "spec" {
			found = append(found, next(key, false, &member)...)
		}
	}
	if props.AdditionalProperties != nil && props.AdditionalProperties.Schema != nil {
		found = append(found, next(keyOfMap, false, props.AdditionalProperties.Schema)...)
	}
	if props.Items != nil && props.Items.Schema != nil {
		found = append(found, next("", true, props.Items.Schema)...)
	}
	if found == nil {
		found = append(found, to)
	}
	return found
}

func (s *step) isUnbounded() bool {
	p := s.props
	switch {
	case p.XIntOrString:
		return p.Pattern == "" && p.MaxLength == nil
	case p.Type == "string":
		return p.MaxLength == nil && len(p.Enum) == 0
	case p.Type == "array":
		return p.MaxItems == nil
	case p.AdditionalProperties != nil:
		return p.MaxProperties == nil
	default:
		return false
	}
}

// samples are the values that the schema itself names for a field.
func (p path) samples() []any {
	var values []any
	for _, value := range p[len(p)-1].props.Enum {
		values = append(values, decoded(value.Raw))
	}
	return values
}

func decoded(raw []byte) any {
	var value any
	_ = json.Unmarshal(raw, &value) // The definition was read.
	return value
}

// set sets the field in an object, and makes what leads to it.
func (p path) set(object map[string]any, value any) {
	key, rest := p[0].key, p[1:]
	inList := len(rest) > 0 && rest[0].inList
	if inList {
		rest = rest[1:]
	}
	if len(rest) > 0 {
		member, _ := object[key].(map[string]any)
		if list, _ := object[key].([]any); len(list) > 0 {
			member, _ = list[0].(map[string]any)
		}
		if member == nil {
			member = required(p[len(p)-len(rest)-1].props)
		}
		rest.set(member, value)
		value = member
	}
	if inList {
		value = []any{value}
	}
	object[key] = value
}

// required are the fields without which an object is not valid.
func required(props *apiextensionsv1.JSONSchemaProps) map[string]any {
	object := map[string]any{}
	for _, key := range props.Required {
		member := props.Properties[key]
		object[key] = sample(&member)
	}
	return object
}

func sample(props *apiextensionsv1.JSONSchemaProps) any {
	switch {
	case props.Default != nil:
		return decoded(props.Default.Raw)
	case props.Type == "string" && len(props.Enum) > 0:
		return decoded(props.Enum[0].Raw)
	case props.Type == "integer":
		return int64(1)
	case props.Type == "boolean":
		return true
	case props.Type == "array":
		return []any{}
	case props.Type == "object":
		return required(props)
	default:
		return "a"
	}
}
