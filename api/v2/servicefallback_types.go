package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ServiceFallback says what answers instead of Services of its own namespace. It is
// for the team that owns them: it needs no right outside of the namespace, and reaches
// nothing there.
//
// A CriticalService with precedence Enforced comes before it, all others after it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +operator-sdk:csv:customresourcedefinitions:displayName="Service Fallback",order=2,resources={{EndpointSlice,v1},{Deployment,v1},{PodDisruptionBudget,v1},{ConfigMap,v1},{Pod,v1}}
// +kubebuilder:resource:scope=Namespaced,shortName=svcfb,path=servicefallbacks,singular=servicefallback
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True while every matched Service is protected"
// +kubebuilder:printcolumn:name="Services",type=integer,JSONPath=`.status.services.total`,description="Services this object matches"
// +kubebuilder:printcolumn:name="Armed",type=integer,JSONPath=`.status.services.armed`,description="Services that answer by themselves and whose fallback is prepared"
// +kubebuilder:printcolumn:name="Covered",type=integer,JSONPath=`.status.services.covered`,description="Services whose fallback answers"
// +kubebuilder:printcolumn:name="Exposed",type=integer,JSONPath=`.status.services.exposed`,description="Services for which nothing answers"
// +kubebuilder:printcolumn:name="Failover",type=string,JSONPath=`.status.conditions[?(@.type=="FailoverReady")].status`,description="True while every standby answers the self-test"
// +kubebuilder:printcolumn:name="Overridden",type=string,JSONPath=`.status.conditions[?(@.type=="Overridden")].status`,priority=1,description="True while another object governs a matched Service"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready has its value"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What Ready means here"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServiceFallback struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec names or selects Services of the namespace and says what answers in their place.
	// +required
	Spec ServiceFallbackSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ProtectionStatus `json:"status,omitempty,omitzero"`
}

// ServiceFallbackSpec names or selects Services and says what answers in their place.
//
// +kubebuilder:validation:XValidation:rule="has(self.services) != has(self.serviceSelector)",message="name the Services in services, or select them with serviceSelector: exactly one of the two"
// +kubebuilder:validation:XValidation:rule="!has(self.fallback.podTemplate) || (has(self.fallback.podTemplate.name) && size(self.fallback.podTemplate.name) > 0 && !has(self.fallback.podTemplate.__namespace__))",message="fallback.podTemplate of a ServiceFallback must name a PodTemplate of its own namespace: give name, and leave namespace out"
type ServiceFallbackSpec struct {
	// services are the names of the Services, 1 to 64. One that does not exist is
	// protected once it does.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="each of services must be a Service's name: lower-case letters, digits and '-', for example 'storefront'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Services",order=1
	Services []string `json:"services,omitempty"`

	// serviceSelector chooses Services by their own labels (not by those of
	// their Pods). It may not be empty.
	// +optional
	// +kubebuilder:validation:XValidation:rule="(has(self.matchLabels) && size(self.matchLabels) > 0) || (has(self.matchExpressions) && size(self.matchExpressions) > 0)",message="an empty selector would mean every Service of the namespace: name at least one label in matchLabels or matchExpressions"
	// +kubebuilder:validation:XValidation:rule="(!has(self.matchLabels) || size(self.matchLabels) <= 8) && (!has(self.matchExpressions) || size(self.matchExpressions) <= 4)",message="serviceSelector must not have more than 8 matchLabels and 4 matchExpressions"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchLabels) || self.matchLabels.all(k, size(k) >= 1 && size(k) <= 317 && size(self.matchLabels[k]) <= 63)",message="serviceSelector.matchLabels must have label keys of 1 to 317 characters and label values of at most 63"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, size(e.key) >= 1 && size(e.key) <= 317 && (!has(e.values) || size(e.values) <= 8))",message="serviceSelector.matchExpressions must have label keys of 1 to 317 characters and at most 8 values each"
	// +kubebuilder:validation:XValidation:rule="!has(self.matchExpressions) || self.matchExpressions.all(e, e.operator in ['In', 'NotIn'] ? has(e.values) && size(e.values) > 0 : e.operator in ['Exists', 'DoesNotExist'] && (!has(e.values) || size(e.values) == 0))",message="serviceSelector.matchExpressions must have the operator In or NotIn with values, or Exists or DoesNotExist without"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:selector:core:v1:Service"},order=3
	ServiceSelector *metav1.LabelSelector `json:"serviceSelector,omitempty"`

	// delays and fallback are those that a CriticalService has, too.
	ProtectionSpec `json:",inline"`
}

// ServiceFallbackList is a list of ServiceFallbacks.
//
// +kubebuilder:object:root=true
type ServiceFallbackList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the ServiceFallbacks.
	Items []ServiceFallback `json:"items"`
}
