package apiserver

import (
	"maps"

	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apimachinery/pkg/runtime"
	apiopenapi "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// describe sets what the OpenAPI documents say. The types of the library are described by what
// was generated for another API server of it; ours are described as objects, as the schema that
// counts is that of the CustomResourceDefinition.
func describe(config *genericapiserver.Config, groups []*Group) {
	var schemes []*runtime.Scheme
	described := map[string]common.OpenAPIDefinition{}
	for _, group := range groups {
		schemes = append(schemes, group.info.Scheme)
		for kind, of := range group.kinds {
			described[util.GetCanonicalTypeName(of)] = object(kind)
		}
	}
	definitions := func(ref common.ReferenceCallback) map[string]common.OpenAPIDefinition {
		all := openapi.GetOpenAPIDefinitions(ref)
		maps.Copy(all, described)
		return all
	}
	namer := apiopenapi.NewDefinitionNamer(schemes...)
	config.OpenAPIConfig = genericapiserver.DefaultOpenAPIConfig(definitions, namer)
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, namer)
	config.OpenAPIConfig.Info.Title, config.OpenAPIV3Config.Info.Title = title, title
}

const title = "Critical Service Workloads"

// object describes a kind whose fields the CustomResourceDefinition describes.
func object(kind string) common.OpenAPIDefinition {
	described := spec.Schema{SchemaProps: spec.SchemaProps{
		Description: "The fields of " + kind + " are those of its CustomResourceDefinition.",
		Type:        []string{"object"},
	}}
	described.AddExtension("x-kubernetes-preserve-unknown-fields", true)
	return common.OpenAPIDefinition{Schema: described}
}
