package v1

import (
	criticalv2 "github.com/critical-service/operator/api/v2"
)

// ServiceProtection is what answers in the place of a Service that the operator makes:
// exactly one of its members. Page, podTemplate and service are those of a ServiceFallback.
//
// It has no default in the schema, so that kubectl apply can put one member in the place
// of another.
//
// +kubebuilder:validation:XValidation:rule="[has(self.page), has(self.podTemplate), has(self.service), has(self.none)].exists_one(x, x)",message="fallback must have exactly one of page, podTemplate, service and none; leave fallback out for the page"
// +kubebuilder:validation:XValidation:rule="!has(self.podTemplate) || (has(self.podTemplate.name) && size(self.podTemplate.name) > 0 && !has(self.podTemplate.__namespace__))",message="fallback.podTemplate must name a PodTemplate of the same namespace: give name, and leave namespace out"
// +structType=atomic
type ServiceProtection struct {
	// page is the answer of the core's responder: the refusal of the protocol.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Page",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=61
	Page *criticalv2.PageFallback `json:"page,omitempty"`

	// podTemplate is a Pod made from a core PodTemplate of the namespace.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=62
	PodTemplate *criticalv2.PodTemplateFallback `json:"podTemplate,omitempty"`

	// service is a backup Service of the namespace.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backup Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=63
	Service *criticalv2.BackupFallback `json:"service,omitempty"`

	// none is that nothing answers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="None",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=64
	None *NoFallback `json:"none,omitempty"`
}

// NoFallback is that nothing answers; it has no fields.
type NoFallback struct{}
