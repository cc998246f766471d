package v2_test

import (
	"encoding/json"
	"maps"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// The code has the default page where no API server filled it in. It says the
// same as the markers from which the definition is generated.
func TestTheDefaultPageIsThatOfTheDefinition(t *testing.T) {
	g := NewWithT(t)
	spec := specOfV2(t)
	data, err := json.Marshal(defaulted(t, &spec, map[string]any{}))
	g.Expect(err).NotTo(HaveOccurred())
	stored := criticalv2.CriticalServiceSpec{}
	g.Expect(json.Unmarshal(data, &stored)).To(Succeed())
	g.Expect(stored.Fallback).To(Equal(criticalv2.Fallback{Page: criticalv2.DefaultPage()}))
}

func TestDefaultPagesAreNotShared(t *testing.T) {
	criticalv2.DefaultPage().Probes.Paths[0] = "/changed"
	NewWithT(t).Expect(criticalv2.DefaultPage().Probes.Paths).NotTo(ContainElement("/changed"))
}

// defaulted fills in the defaults of a schema as the API server does: from the
// outside in, so that a default may itself leave out what has a default.
func defaulted(t *testing.T, schema *apiextensionsv1.JSONSchemaProps, value any) any {
	t.Helper()
	object, isObject := value.(map[string]any)
	if !isObject {
		return value
	}
	filled := maps.Clone(object)
	for name, field := range schema.Properties {
		if _, given := filled[name]; !given && field.Default != nil {
			var content any
			if err := json.Unmarshal(field.Default.Raw, &content); err != nil {
				t.Fatal(err)
			}
			filled[name] = content
		}
		if content, found := filled[name]; found {
			filled[name] = defaulted(t, &field, content)
		}
	}
	return filled
}

func specOfV2(t *testing.T) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	data, err := os.ReadFile("../../config/crd/bases/mycrd.com_criticalservices.yaml")
	if err != nil {
		t.Fatal(err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, definition); err != nil {
		t.Fatal(err)
	}
	for _, version := range definition.Spec.Versions {
		if version.Name == criticalv2.GroupVersion.Version {
			return version.Schema.OpenAPIV3Schema.Properties["spec"]
		}
	}
	t.Fatal("the definition has no version v2")
	return apiextensionsv1.JSONSchemaProps{}
}
