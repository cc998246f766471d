package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv2 "github.com/critical-service/operator/workloads/api/v2"
)

// AppConfig is the configuration of an application, in the first version of its kind. It is
// served, and stored as v2.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +operator-sdk:csv:customresourcedefinitions:displayName="App Config (v1)",order=3,resources={{ConfigMap,v1},{Deployment,v1},{StatefulSet,v1}}
// +kubebuilder:resource:scope=Namespaced,shortName=appcfg,path=appconfigs,singular=appconfig
// +kubebuilder:printcolumn:name="App",type=string,JSONPath=`.spec.appName`,description="Name of the application"
// +kubebuilder:printcolumn:name="ConfigMap",type=string,JSONPath=`.status.configMapName`,description="ConfigMap with the settings of now"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True while the ConfigMap is there and every workload that uses it takes it"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready has its value"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What Ready means here"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 52",message="metadata.name must have at most 52 characters: the names of its ConfigMaps have 11 more"
type AppConfig struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the configuration.
	// +required
	Spec AppConfigSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status workloadsv2.AppConfigStatus `json:"status,omitempty,omitzero"`
}

// AppConfigSpec is the configuration of one application.
type AppConfigSpec struct {
	// appName is the name of the application, 1 to 63 characters. It is for people: no
	// ConfigMap holds it.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Application",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	AppName string `json:"appName"`

	// config is what the ConfigMap holds: at most 256 settings, with the keys that a
	// ConfigMap may have, and at most 262144 characters (256 KiB) in all. None makes an
	// empty ConfigMap.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Config",order=2
	Config workloadsv2.Settings `json:"config,omitzero"`
}

// AppConfigList is a list of AppConfigs.
//
// +kubebuilder:object:root=true
type AppConfigList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the AppConfigs.
	Items []AppConfig `json:"items"`
}
