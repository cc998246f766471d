package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// CriticalService names Services that must always have something that answers,
// and says what.
//
// The operator publishes a standby endpoint for every Service it matches, ahead
// of time. Proxies use it by themselves in the instant in which the Service has
// no ready endpoint left (KEP-1669). The Service itself is never written to.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +operator-sdk:csv:customresourcedefinitions:displayName="Critical Service",order=1,resources={{EndpointSlice,v1},{Deployment,v1},{PodDisruptionBudget,v1},{ConfigMap,v1},{Pod,v1}}
// +kubebuilder:resource:scope=Cluster,shortName=crisvc,path=criticalservices,singular=criticalservice
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True while every matched Service is protected"
// +kubebuilder:printcolumn:name="Services",type=integer,JSONPath=`.status.services.total`,description="Services this object matches"
// +kubebuilder:printcolumn:name="Armed",type=integer,JSONPath=`.status.services.armed`,description="Services that answer by themselves and whose fallback is prepared"
// +kubebuilder:printcolumn:name="Covered",type=integer,JSONPath=`.status.services.covered`,description="Services whose fallback answers"
// +kubebuilder:printcolumn:name="Exposed",type=integer,JSONPath=`.status.services.exposed`,description="Services for which nothing answers"
// +kubebuilder:printcolumn:name="Failover",type=string,JSONPath=`.status.conditions[?(@.type=="FailoverReady")].status`,description="True while every standby answers the self-test"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready has its value"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What Ready means here"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CriticalService struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which Services are critical and what answers in their place.
	// +required
	Spec CriticalServiceSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ProtectionStatus `json:"status,omitempty,omitzero"`
}

// CriticalServiceSpec selects Services and says what answers in their place.
//
// +kubebuilder:validation:XValidation:rule="!has(self.namespaceSelector) || !has(self.namespaces) || size(self.namespaces) == 0",message="name the namespaces in namespaces, or select them with namespaceSelector, not both"
type CriticalServiceSpec struct {
	// namespaces restricts the selection to Services of these namespaces.
	// Absent or empty means every namespace that the operator watches, unless
	// namespaceSelector restricts them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="each of namespaces must be a namespace's name: lower-case letters, digits and '-', for example 'shop'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Namespaces",order=2
	Namespaces []string `json:"namespaces,omitempty"`

	// namespaceSelector restricts the selection to Services of namespaces that
	// carry these labels. It excludes namespaces. An empty selector selects every
	// namespace.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || size(self.matchLabels) <= 16) && (!has(self.matchExpressions) || size(self.matchExpressions) <= 16)",message="namespaceSelector must not have more than 16 matchLabels and 16 matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || self.matchLabels.all(k, size(k) >= 1 && size(k) <= 317 && size(self.matchLabels[k]) <= 63)",message="namespaceSelector.matchLabels must have label keys of 1 to 317 characters and label values of at most 63"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, size(e.key) >= 1 && size(e.key) <= 317 && (!has(e.values) || size(e.values) <= 16))",message="namespaceSelector.matchExpressions must have label keys of 1 to 317 characters and at most 16 values each"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="namespaceSelector.matchExpressions must have the operator In or NotIn with values, or Exists or DoesNotExist without"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Namespace selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:selector:core:v1:Namespace"},order=3
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`

	// serviceSelector chooses Services by their own labels (not by those of
	// their Pods). It may not be empty.
	// +required
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="an empty selector would make every Service of the cluster critical: name at least one label in matchLabels or matchExpressions"
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || size(self.matchLabels) <= 16) && (!has(self.matchExpressions) || size(self.matchExpressions) <= 16)",message="serviceSelector must not have more than 16 matchLabels and 16 matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || self.matchLabels.all(k, size(k) >= 1 && size(k) <= 317 && size(self.matchLabels[k]) <= 63)",message="serviceSelector.matchLabels must have label keys of 1 to 317 characters and label values of at most 63"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, size(e.key) >= 1 && size(e.key) <= 317 && (!has(e.values) || size(e.values) <= 16))",message="serviceSelector.matchExpressions must have label keys of 1 to 317 characters and at most 16 values each"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="serviceSelector.matchExpressions must have the operator In or NotIn with values, or Exists or DoesNotExist without"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:selector:core:v1:Service"},order=1
	ServiceSelector metav1.LabelSelector `json:"serviceSelector"`

	// precedence is Default (a ServiceFallback of the Service's namespace comes before
	// this object) or Enforced (this object comes before it, and the annotation by which
	// a Service opts out is ignored).
	// +optional
	// +kubebuilder:default=Default
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Precedence",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Default","urn:alm:descriptor:com.tectonic.ui:select:Enforced"},order=7
	Precedence Precedence `json:"precedence,omitempty"`

	// delays and fallback are those that a ServiceFallback has, too.
	ProtectionSpec `json:",inline"`
}

// Precedence is whether a CriticalService comes before the ServiceFallbacks of teams.
// +kubebuilder:validation:Enum=Default;Enforced
type Precedence string

const (
	// PrecedenceDefault lets ServiceFallbacks come first.
	PrecedenceDefault Precedence = "Default"
	// PrecedenceEnforced comes before ServiceFallbacks.
	PrecedenceEnforced Precedence = "Enforced"
)

// CriticalServiceList is a list of CriticalServices.
//
// +kubebuilder:object:root=true
type CriticalServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CriticalService `json:"items"`
}
