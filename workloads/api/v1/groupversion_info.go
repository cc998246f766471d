package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds of this package.
	GroupVersion = schema.GroupVersion{Group: "mycrd.com", Version: "v1"}

	// DatabaseKind is the kind named in owner references and events.
	DatabaseKind = GroupVersion.WithKind("Database")
	// WebAppKind is the kind named in owner references and events.
	WebAppKind = GroupVersion.WithKind("WebApp")
	// AppConfigKind is the kind in the first of its versions.
	AppConfigKind = GroupVersion.WithKind("AppConfig")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &AppConfig{}, &AppConfigList{}, &Database{}, &DatabaseList{}, &WebApp{}, &WebAppList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
