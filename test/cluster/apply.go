package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Decode reads the objects of a manifest of one or more YAML documents.
func Decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	var objects []*unstructured.Unstructured
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d of the manifest is not valid YAML: %w", len(objects)+1, err)
		}
		// An empty document, such as one of comments only.
		if len(object.Object) == 0 {
			continue
		}
		if object.GetKind() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d of the manifest has no kind or no name", len(objects)+1)
		}
		objects = append(objects, object)
	}
}

// Apply applies objects by server-side apply, in the order given, under the name of manager. It
// takes over what others have set, as a repeated 'kubectl apply' of a release does.
func (c *Cluster) Apply(ctx context.Context, manager string, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		config := client.ApplyConfigurationFromUnstructured(object.DeepCopy())
		if err := c.Client.Apply(ctx, config, client.FieldOwner(manager), client.ForceOwnership); err != nil {
			return fmt.Errorf("cannot apply %s: %w", describe(object), err)
		}
	}
	return nil
}

// ApplyFile applies the objects of a manifest, as Apply does.
func (c *Cluster) ApplyFile(ctx context.Context, manager, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cannot read the manifest: %w", err)
	}
	objects, err := Decode(content)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return c.Apply(ctx, manager, objects...)
}

func describe(object *unstructured.Unstructured) string {
	if object.GetNamespace() == "" {
		return fmt.Sprintf("%s %s", object.GetKind(), object.GetName())
	}
	return fmt.Sprintf("%s %s/%s", object.GetKind(), object.GetNamespace(), object.GetName())
}
