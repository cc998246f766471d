package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// CriticalService names Services that must always have something that answers.
//
// When a Service it matches has no ready endpoint left, the operator puts a
// fallback in its place, and takes the fallback away when a real endpoint is
// ready again. The Service itself is never written to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +operator-sdk:csv:customresourcedefinitions:displayName="Critical Service (v1)",order=2,resources={{EndpointSlice,v1},{Deployment,v1},{PodDisruptionBudget,v1},{ConfigMap,v1},{Pod,v1}}
// +kubebuilder:resource:scope=Cluster,shortName=crisvc,path=criticalservices,singular=criticalservice
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True while every matched Service is protected"
// +kubebuilder:printcolumn:name="Services",type=integer,JSONPath=`.status.services.total`,description="Services this object matches"
// +kubebuilder:printcolumn:name="Armed",type=integer,JSONPath=`.status.services.armed`,description="Services that answer by themselves and whose fallback is prepared"
// +kubebuilder:printcolumn:name="Covered",type=integer,JSONPath=`.status.services.covered`,description="Services whose fallback answers"
// +kubebuilder:printcolumn:name="Exposed",type=integer,JSONPath=`.status.services.exposed`,description="Services for which nothing answers"
// +kubebuilder:printcolumn:name="Failover",type=string,JSONPath=`.status.conditions[?(@.type=="FailoverReady")].status`,description="True while every standby answers the self-test"
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespace`,priority=1,description="The only namespace looked at; empty is all"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready has its value"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What Ready means here"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CriticalService struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which Services are critical.
	// +required
	Spec CriticalServiceSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status criticalv2.ProtectionStatus `json:"status,omitempty,omitzero"`
}

// CriticalServiceSpec selects Services by their own labels (not by those of
// their Pods) and, optionally, by namespace.
type CriticalServiceSpec struct {
	// namespace restricts the selection to the Services of one namespace.
	// Absent or empty means every namespace that the operator watches.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="namespace must be a namespace's name: lower-case letters, digits and '-', for example 'shop'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Namespace",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Namespace string `json:"namespace,omitempty"`

	// matchLabels lists the labels that a Service must carry, all of them, to
	// be critical. They are compared with the labels of the Service.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(x, self.exists_one(y, y.key == x.key))",message="matchLabels must not name a key twice: a label has one value, so two entries for one key can never both match"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Labels of the Service",order=1
	MatchLabels []LabelMatch `json:"matchLabels"`
}

// LabelMatch is one label that a Service must carry.
type LabelMatch struct {
	// key is the label's key, for example "role" or "app.kubernetes.io/name".
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.indexOf('/') <= 253",message="key must not have a prefix of more than 253 characters"
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="key must be a label key, for example 'role' or 'app.kubernetes.io/name'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Key",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:arrayFieldGroup:matchLabels","urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Key string `json:"key"`

	// value is the value that the label must have. An empty string matches a
	// label that is present with an empty value.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$')",message="value must be a label value: at most 63 letters, digits, '-', '_' or '.', for example 'frontend'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Value",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:arrayFieldGroup:matchLabels","urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Value string `json:"value"`
}

// CriticalServiceList is a list of CriticalServices.
//
// +kubebuilder:object:root=true
type CriticalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CriticalService `json:"items"`
}
