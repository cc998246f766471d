// Package crdschema validates objects by the OpenAPI schema and the CEL rules of a
// CustomResourceDefinition, with the API server's own library. It is for what the API
// server did not validate: a spec of CriticalService v2 in an annotation of a v1 object.
package crdschema

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/config/crd"
)

// Schema is the compiled schema of CriticalService v2. It may be used concurrently.
type Schema struct{ *Version }

var load = sync.OnceValues(func() (*Schema, error) {
	version, err := Compile(crd.CriticalServices, criticalv2.GroupVersion.Version)
	return &Schema{version}, err
})

// Load returns the schema of this release, which is compiled once per process.
func Load() (*Schema, error) { return load() }

// Version is the compiled schema of one version of a kind. It may be used concurrently.
type Version struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

// Compile compiles the schema of a version of a CustomResourceDefinition in YAML.
func Compile(definition []byte, version string) (*Version, error) {
	props, err := propsOf(definition, version)
	if err != nil {
		return nil, fmt.Errorf("read the CustomResourceDefinition: %w", err)
	}
	v := &Version{}
	if v.structural, err = structuralschema.NewStructural(props); err != nil {
		return nil, fmt.Errorf("read the schema of version %s: %w", version, err)
	}
	if v.openAPI, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("compile the schema of version %s: %w", version, err)
	}
	v.rules = cel.NewValidator(v.structural, true, celconfig.PerCallLimit)
	return v, nil
}

func propsOf(definition []byte, version string) (*apiextensions.JSONSchemaProps, error) {
	var read apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(definition, &read); err != nil {
		return nil, err
	}
	for i := range read.Spec.Versions {
		if found := &read.Spec.Versions[i]; found.Name == version {
			props := &apiextensions.JSONSchemaProps{}
			return props, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(found.Schema.OpenAPIV3Schema, props, nil)
		}
	}
	return nil, fmt.Errorf("version %s is missing", version)
}

// Valid reports whether the API server would accept a spec.
func (s *Schema) Valid(spec *criticalv2.CriticalServiceSpec) bool {
	return len(s.Validate(spec)) == 0
}

// Validate returns what the API server would reject in a spec. An absent field is
// valid where the schema has a default.
func (s *Schema) Validate(spec *criticalv2.CriticalServiceSpec) field.ErrorList {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	setDelay(fields, "activationDelay", spec.ActivationDelay)
	setDelay(fields, "deactivationDelay", spec.DeactivationDelay)
	return s.ValidateObject(map[string]any{"spec": fields})
}

// ValidateObject returns what the API server would reject in an object. No context can cut
// it short, because an unfinished validation would read as an invalid object; the budget of
// CEL bounds it.
func (v *Version) ValidateObject(object map[string]any) field.ErrorList {
	errs := validation.ValidateCustomResource(nil, object, v.openAPI)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, v.structural, object)...)
	if len(errs) > 0 {
		// CEL expects the types of the schema.
		return errs
	}
	errs, _ = v.rules.Validate(context.Background(), nil, v.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return errs
}

// setDelay writes a delay in seconds. Go writes parts of a millisecond in units
// that the schema does not allow, although it allows the same delay in seconds:
// see ValidateBeyondSchema.
func setDelay(fields map[string]any, name string, delay metav1.Duration) {
	if delay.Duration != 0 {
		fields[name] = strconv.FormatFloat(delay.Seconds(), 'f', -1, 64) + "s"
	}
}
