package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds of this package.
	GroupVersion = schema.GroupVersion{Group: "mycrd.com", Version: "v1alpha1"}

	// ETCDInstanceKind is the kind named in owner references and events.
	ETCDInstanceKind = GroupVersion.WithKind("ETCDInstance")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ETCDInstance{}, &ETCDInstanceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
