// Package crdschema validates a spec of CriticalService v2 by the OpenAPI schema
// and the CEL rules of the CustomResourceDefinition, with the API server's own
// library. It is for a spec that the API server did not validate: one in an
// annotation of a v1 object.
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

// Schema is the compiled schema of v2. It may be used concurrently.
type Schema struct {
	structural *structuralschema.Structural
	openAPI    validation.SchemaValidator
	rules      *cel.Validator
}

var load = sync.OnceValues(compile)

// Load returns the schema of this release, which is compiled once per process.
func Load() (*Schema, error) { return load() }

func compile() (*Schema, error) {
	props, err := embedded()
	if err != nil {
		return nil, fmt.Errorf("read the embedded CustomResourceDefinition: %w", err)
	}
	s := &Schema{}
	if s.structural, err = structuralschema.NewStructural(props); err != nil {
		return nil, fmt.Errorf("read the schema of version %s: %w", criticalv2.GroupVersion.Version, err)
	}
	if s.openAPI, _, err = validation.NewSchemaValidator(props); err != nil {
		return nil, fmt.Errorf("compile the schema of version %s: %w", criticalv2.GroupVersion.Version, err)
	}
	s.rules = cel.NewValidator(s.structural, true, celconfig.PerCallLimit)
	return s, nil
}

func embedded() (*apiextensions.JSONSchemaProps, error) {
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(crd.CriticalServices, &definition); err != nil {
		return nil, err
	}
	for i := range definition.Spec.Versions {
		if version := &definition.Spec.Versions[i]; version.Name == criticalv2.GroupVersion.Version {
			props := &apiextensions.JSONSchemaProps{}
			return props, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, props, nil)
		}
	}
	return nil, fmt.Errorf("version %s is missing", criticalv2.GroupVersion.Version)
}

// Valid reports whether the API server would accept a spec.
func (s *Schema) Valid(spec *criticalv2.CriticalServiceSpec) bool {
	return len(s.Validate(spec)) == 0
}

// Validate returns what the API server would reject in a spec. An absent field is
// valid where the schema has a default. No context can cut it short, because an
// unfinished validation would read as an invalid spec; the budget of CEL bounds it.
func (s *Schema) Validate(spec *criticalv2.CriticalServiceSpec) field.ErrorList {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(spec)
	if err != nil {
		return field.ErrorList{field.InternalError(field.NewPath("spec"), err)}
	}
	setDelay(fields, "activationDelay", spec.ActivationDelay)
	setDelay(fields, "deactivationDelay", spec.DeactivationDelay)
	object := map[string]any{"spec": fields}
	errs := validation.ValidateCustomResource(nil, object, s.openAPI)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, s.structural, object)...)
	if len(errs) > 0 {
		// CEL expects the types of the schema.
		return errs
	}
	errs, _ = s.rules.Validate(context.Background(), nil, s.structural, object, nil, celconfig.RuntimeCELCostBudget)
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
