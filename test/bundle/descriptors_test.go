package bundle

import (
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/operator-framework/api/pkg/manifests"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// fields are the paths of all fields below a schema, in the words of
// descriptors: the elements of a list are those of its first. Some fields are
// shown as a whole, because their type is that of another package: a console
// knows them by one descriptor.
func fields(schema apiextensionsv1.JSONSchemaProps, prefix string, whole []string) []string {
	var paths []string
	for name, field := range schema.Properties {
		path := prefix + name
		paths = append(paths, path)
		switch {
		case slices.Contains(whole, path):
		case field.Type == "array":
			paths = append(paths, fields(*field.Items.Schema, path+"[0].", whole)...)
		default:
			paths = append(paths, fields(field, path+".", whole)...)
		}
	}
	return paths
}

// descriptor is what spec and status descriptors have in common.
type descriptor struct {
	path, displayName, description string
	forms                          []string
}

func TestEveryFieldHasADescriptor(t *testing.T) {
	g := NewWithT(t)
	everyFieldIsDescribed(g, load(g), definitions(g), "namespaceSelector", "serviceSelector", "conditions")
}

// everyFieldIsDescribed holds the descriptors of a bundle to the definitions that it owns.
func everyFieldIsDescribed(g Gomega, bundle *manifests.Bundle, definitions []apiextensionsv1.CustomResourceDefinition, whole ...string) {
	described := map[string][]descriptor{}
	for _, owned := range bundle.CSV.Spec.CustomResourceDefinitions.Owned {
		g.Expect(owned.Name).To(Equal(strings.ToLower(owned.Kind) + "s.mycrd.com"))
		g.Expect(owned.DisplayName).NotTo(BeEmpty())
		g.Expect(owned.Description).NotTo(BeEmpty())
		g.Expect(owned.Resources).NotTo(BeEmpty())
		for _, d := range owned.SpecDescriptors {
			described[owned.Kind+" "+owned.Version+" spec"] = append(described[owned.Kind+" "+owned.Version+" spec"], descriptor{d.Path, d.DisplayName, d.Description, d.XDescriptors})
		}
		for _, d := range owned.StatusDescriptors {
			described[owned.Kind+" "+owned.Version+" status"] = append(described[owned.Kind+" "+owned.Version+" status"], descriptor{d.Path, d.DisplayName, d.Description, d.XDescriptors})
		}
	}
	versions := 0
	for _, crd := range definitions {
		versions += len(crd.Spec.Versions)
	}
	g.Expect(described).To(HaveLen(2*versions), "spec and status of every version")
	for _, crd := range bundle.V1CRDs {
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				name := crd.Spec.Names.Kind + " " + version.Name + " " + part
				schema := version.Schema.OpenAPIV3Schema.Properties[part]
				var paths []string
				for _, d := range described[name] {
					if isList(schema, d.path) {
						g.Expect(d.forms).NotTo(ContainElement("urn:alm:descriptor:com.tectonic.ui:text"), "%s %s: a console shows a list badly as a text", name, d.path)
					}
					g.Expect(d.displayName).NotTo(BeEmpty(), d.path)
					g.Expect(d.description).NotTo(BeEmpty(), d.path)
					paths = append(paths, d.path)
				}
				g.Expect(paths).To(ConsistOf(fields(schema, "", whole)), name)
			}
		}
	}
}

// isList reports whether the field at a path of descriptors is a list.
func isList(schema apiextensionsv1.JSONSchemaProps, path string) bool {
	for name := range strings.SplitSeq(path, ".") {
		name, isElement := strings.CutSuffix(name, "[0]")
		schema = schema.Properties[name]
		if isElement {
			schema = *schema.Items.Schema
		}
	}
	return schema.Type == "array"
}
