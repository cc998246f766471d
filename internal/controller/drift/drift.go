// Package drift compares objects with what is wanted of them. It is pure.
package drift

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

// Covers reports whether an object has all that is wanted of it. What it has
// besides, such as defaults, does not count: fields that must go are found by the
// hash of what was applied.
func Covers(existing, wanted any) bool {
	return hasAll(fields(existing), fields(wanted))
}

func hasAll(has, wants any) bool {
	switch wants := wants.(type) {
	case map[string]any:
		has, isMap := has.(map[string]any)
		if !isMap && len(wants) > 0 {
			return false
		}
		for key, value := range wants {
			if !hasAll(has[key], value) {
				return false
			}
		}
		return true
	case []any:
		has, isList := has.([]any)
		return isList && hasEach(has, wants)
	default:
		return reflect.DeepEqual(has, wants)
	}
}

// hasEach compares lists: of objects, others may have added some, and the API
// server keeps their order as it likes; anything else must be the same.
func hasEach(has, wants []any) bool {
	for i, want := range wants {
		if _, isObject := want.(map[string]any); !isObject {
			return reflect.DeepEqual(has, wants)
		}
		sameAs := func(one any) bool { return hasAll(one, want) }
		if !(i < len(has) && sameAs(has[i])) && !slices.ContainsFunc(has, sameAs) {
			return false
		}
	}
	return true
}

// fields are the fields of an object that a writer sets: no status, and nothing that
// the API server maintains.
func fields(object any) map[string]any {
	// The objects are API types, which always convert. Unstructured ones are not copied by that.
	content, _ := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	content = maps.Clone(content)
	delete(content, "status")
	delete(content, "apiVersion")
	delete(content, "kind")
	if meta, isMap := content["metadata"].(map[string]any); isMap {
		meta = maps.Clone(meta)
		content["metadata"] = meta
		for _, counted := range []string{"resourceVersion", "generation", "managedFields", "creationTimestamp"} {
			delete(meta, counted)
		}
	}
	return content
}

// Digest identifies what was wanted together with what the API server stored.
func Digest(wanted, existing any) string {
	return Hash([]any{fields(wanted), fields(existing)})
}

// Hash identifies a value by its JSON form.
func Hash(value any) string {
	// The values hashed here are API types and texts, which always marshal.
	data, _ := json.Marshal(value)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}
