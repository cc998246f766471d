package gitops

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	sigsyaml "sigs.k8s.io/yaml"
)

// readObjects are objects of every kind, by "Kind/name": those that the operator's code
// wrote for the tests of its decisions, one that no operator has looked at, and one that
// was changed after that.
func readObjects(t *testing.T) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for _, kind := range []struct{ statuses, definition, sample, observed string }{
		{"controllers/criticalservice/internal/decide/testdata/statuses/criticalservices", "criticalservices", "criticalservice_page", "CriticalService/armed"},
		{"controllers/criticalservice/internal/decide/testdata/statuses/servicefallbacks", "servicefallbacks", "servicefallback", "ServiceFallback/armed"},
		{"controllers/maintenance/internal/decide/testdata/statuses/maintenances", "maintenances", "maintenance", "Maintenance/announced"},
	} {
		for _, object := range documents(t, kind.statuses+".golden.yaml") {
			objects[object.GetKind()+"/"+object.GetName()] = object
		}
		unseen := documents(t, "config/samples/mycrd.com_v2_"+kind.sample+".yaml")[0]
		unseen.SetGeneration(1)
		stored(t, kind.definition, unseen)
		objects[unseen.GetKind()+"/unseen"] = unseen
		changed := objects[kind.observed].DeepCopy()
		changed.SetGeneration(2)
		objects[changed.GetKind()+"/changed"] = changed
	}
	return objects
}

// documents are the objects of a file.
func documents(t *testing.T, path string) (objects []*unstructured.Unstructured) {
	t.Helper()
	content, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		json, err := yaml.ToJSON(document)
		if err != nil {
			t.Fatal(err)
		}
		if object := (&unstructured.Unstructured{}); !bytes.Equal(json, []byte("null")) {
			if err := object.UnmarshalJSON(json); err != nil {
				t.Fatal(err)
			}
			objects = append(objects, object)
		}
	}
}

// stored makes an object what the API server returns after it was created: its library
// fills in the defaults of the definition.
func stored(t *testing.T, plural string, object *unstructured.Unstructured) {
	t.Helper()
	content, err := os.ReadFile(root + "config/crd/bases/mycrd.com_" + plural + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := sigsyaml.UnmarshalStrict(content, &definition); err != nil {
		t.Fatal(err)
	}
	for _, version := range definition.Spec.Versions {
		if version.Name != object.GroupVersionKind().Version {
			continue
		}
		props := &apiextensions.JSONSchemaProps{}
		if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil); err != nil {
			t.Fatal(err)
		}
		structural, err := schema.NewStructural(props)
		if err != nil {
			t.Fatal(err)
		}
		defaulting.Default(object.Object, structural)
		return
	}
	t.Fatalf("%s has no version %s", plural, object.GroupVersionKind().Version)
}
