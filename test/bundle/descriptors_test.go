package bundle

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// shownAsAWhole are fields whose type is not ours: a console knows it by one
// descriptor of the whole.
var shownAsAWhole = map[string]bool{"namespaceSelector": true, "serviceSelector": true, "conditions": true}

// fields are the paths of all fields below a schema, in the words of
// descriptors: the elements of a list are those of its first.
func fields(schema apiextensionsv1.JSONSchemaProps, prefix string) []string {
	var paths []string
	for name, field := range schema.Properties {
		path := prefix + name
		paths = append(paths, path)
		switch {
		case shownAsAWhole[path]:
		case field.Type == "array":
			paths = append(paths, fields(*field.Items.Schema, path+"[0].")...)
		default:
			paths = append(paths, fields(field, path+".")...)
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
	described := map[string][]descriptor{}
	for _, owned := range csv(g).Spec.CustomResourceDefinitions.Owned {
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
	for _, crd := range definitions(g) {
		versions += len(crd.Spec.Versions)
	}
	g.Expect(described).To(HaveLen(2*versions), "spec and status of every version")
	for _, crd := range load(g).V1CRDs {
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				whole := crd.Spec.Names.Kind + " " + version.Name + " " + part
				schema := version.Schema.OpenAPIV3Schema.Properties[part]
				var paths []string
				for _, d := range described[whole] {
					if isList(schema, d.path) {
						g.Expect(d.forms).NotTo(ContainElement("urn:alm:descriptor:com.tectonic.ui:text"), "%s %s: a console shows a list badly as a text", whole, d.path)
					}
					g.Expect(d.displayName).NotTo(BeEmpty(), d.path)
					g.Expect(d.description).NotTo(BeEmpty(), d.path)
					paths = append(paths, d.path)
				}
				g.Expect(paths).To(ConsistOf(fields(schema, "")), whole)
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
