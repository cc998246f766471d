package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AppConfig is the configuration of an application.
//
// The operator keeps it in an immutable ConfigMap for each content. Deployments and
// StatefulSets that carry the label mycrd.com/appconfig take the one for the content of
// now, and roll once for each change.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +operator-sdk:csv:customresourcedefinitions:displayName="App Config",order=2,resources={{ConfigMap,v1},{Deployment,v1},{StatefulSet,v1}}
// +kubebuilder:resource:scope=Namespaced,shortName=appcfg,path=appconfigs,singular=appconfig
// +kubebuilder:printcolumn:name="App",type=string,JSONPath=`.spec.appName`,description="Name of the application"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.spec.configuration.version`,description="Version of the configuration, as its author calls it"
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
	Status AppConfigStatus `json:"status,omitempty,omitzero"`
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

	// configuration is what the application is configured with.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Configuration",order=2
	Configuration Configuration `json:"configuration"`
}

// Configuration is settings and what their author calls them.
type Configuration struct {
	// settings are what the ConfigMap holds: at most 256 of them, with the keys that a
	// ConfigMap may have, and at most 262144 characters (256 KiB) in all. None makes an
	// empty ConfigMap.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Settings",order=3
	Settings Settings `json:"settings,omitzero"`

	// version is what their author calls them, 1 to 63 characters. A change of it alone
	// changes no content, so that no workload rolls.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Version string `json:"version,omitempty"`
}

// Settings are values by key. Both versions of AppConfig bound them alike, so that what one
// accepts the other does too, and a ConfigMap can always hold them.
//
// +kubebuilder:validation:MaxProperties=256
// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 253 && k.matches('^[.]?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$'))",message="keys must be those that a ConfigMap may have: 1 to 253 letters, digits, '-', '_' and '.', and not '..' at the beginning"
// +kubebuilder:validation:XValidation:rule="self.map(k, size(k) + size(self[k])).sum() <= 262144",message="keys and values must have at most 262144 characters (256 KiB) in all"
type Settings map[string]string

// AppConfigStatus is the operator's last observation.
type AppConfigStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1 until
	// the operator has looked.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready and, while a person has to change something, Stalled.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// configMapName is the ConfigMap that workloads take: the name of the AppConfig and the
	// first 10 digits of the hash. The same settings give the same name, also later.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="ConfigMap",xDescriptors={"urn:alm:descriptor:io.kubernetes:ConfigMap"},order=2
	ConfigMapName string `json:"configMapName,omitempty"`

	// hash is that of the settings in this ConfigMap: SHA-256 in hexadecimal digits.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Hash",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Hash string `json:"hash,omitempty"`
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
