package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// object is an API object of any kind.
type object map[string]any

// parse reads the documents of a YAML stream.
func parse(data []byte) ([]object, error) {
	documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(data)))
	defer documents.Close()
	var objects []object
	buffer := make([]byte, len(data))
	for {
		length, err := documents.Read(buffer)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("split the YAML of kustomize: %w", err)
		}
		var next object
		if err := yaml.Unmarshal(buffer[:length], &next); err != nil {
			return nil, fmt.Errorf("read the YAML of kustomize: %w", err)
		}
		objects = append(objects, next)
	}
}

// field is the map at a path of keys; it is made where it is missing.
func (o object) field(path ...string) map[string]any {
	at := map[string]any(o)
	for _, key := range path {
		next, isMap := at[key].(map[string]any)
		if !isMap {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	return at
}

func (o object) kind() string {
	kind, _ := o["kind"].(string)
	return kind
}

func (o object) name() string {
	name, _ := o.field("metadata")["name"].(string)
	return name
}

// same says whether two are the same object, maybe in two states.
func (o object) same(other object) bool {
	return o["apiVersion"] == other["apiVersion"] && o.kind() == other.kind() && o.name() == other.name()
}

func find(objects []object, wanted object) (object, bool) {
	at := slices.IndexFunc(objects, wanted.same)
	if at < 0 {
		return nil, false
	}
	return objects[at], true
}
