package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	// GroupVersion is the group and version of the kinds of this package.
	GroupVersion = schema.GroupVersion{Group: "mycrd.com", Version: "v2"}

	// CriticalServiceKind is the kind named in owner references and events.
	CriticalServiceKind = GroupVersion.WithKind("CriticalService")

	// MaintenanceKind is the kind named in owner references and events.
	MaintenanceKind = GroupVersion.WithKind("Maintenance")

	// ServiceFallbackKind is the kind named in owner references and events.
	ServiceFallbackKind = GroupVersion.WithKind("ServiceFallback")

	schemeBuilder = runtime.NewSchemeBuilder(addKnownTypes)

	// AddToScheme makes the kinds of this package known to a scheme.
	AddToScheme = schemeBuilder.AddToScheme
)

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &CriticalService{}, &CriticalServiceList{}, &ServiceFallback{}, &ServiceFallbackList{},
		&Maintenance{}, &MaintenanceList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
