package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProtectionSpec says what answers instead of a Service, and when. CriticalService
// and ServiceFallback have it in common.
type ProtectionSpec struct {
	// activationDelay is how long a Service must have no ready endpoint before
	// its standby is promoted to a ready endpoint, which consumers that look at
	// ready endpoints only (most ingress controllers, DNS of headless Services)
	// need. kube-proxy and Cilium use the standby at once, whatever the delay.
	// From 0s to 1h.
	// +optional
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) <= duration('1h')",message="activationDelay must be a duration from 0s to 1h, for example '30s' or '1m30s'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Activation delay",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	ActivationDelay metav1.Duration `json:"activationDelay,omitempty,omitzero"`

	// deactivationDelay is how long a Service must have had a ready endpoint of
	// its own before a promoted standby is demoted. Meanwhile both answer.
	// From 0s to 1h.
	// +optional
	// +kubebuilder:default="0s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) <= duration('1h')",message="deactivationDelay must be a duration from 0s to 1h, for example '30s' or '1m30s'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deactivation delay",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	DeactivationDelay metav1.Duration `json:"deactivationDelay,omitempty,omitzero"`

	// fallback is what answers: exactly one of page, podTemplate and service.
	// Absent means the page with its defaults.
	// +optional
	// +structType=atomic
	// +kubebuilder:default={page: {}}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fallback",order=4
	Fallback Fallback `json:"fallback,omitempty,omitzero"`
}

// Fallback is what answers in a Service's place. Exactly one member is set.
//
// +kubebuilder:validation:XValidation:rule="[has(self.page), has(self.podTemplate), has(self.service)].exists_one(x, x)",message="fallback must have exactly one of page, podTemplate and service; leave fallback out altogether for the built-in page; where the page was stored by default, kubectl apply needs page: null beside the other member"
type Fallback struct {
	// page is the built-in responder: it answers each protocol with its own
	// "not available now", for HTTP with a page.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Page",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=10
	Page *PageFallback `json:"page,omitempty"`

	// podTemplate is a Pod made from a core PodTemplate.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod template",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=20
	PodTemplate *PodTemplateFallback `json:"podTemplate,omitempty"`

	// service is a backup Service in the namespace of the critical one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backup Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback"},order=30
	Service *BackupFallback `json:"service,omitempty"`
}

// PageFallback says what the built-in responder answers.
type PageFallback struct {
	// statusCode of HTTP answers.
	// +optional
	// +kubebuilder:default=503
	// +kubebuilder:validation:Minimum=400
	// +kubebuilder:validation:Maximum=599
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Status code",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page","urn:alm:descriptor:com.tectonic.ui:number"},order=11
	StatusCode int32 `json:"statusCode,omitempty"`

	// retryAfterSeconds is the value of the header Retry-After, in seconds; 0 leaves the
	// header out. A date in the team's content (key "eta") takes precedence.
	// +optional
	// +kubebuilder:default=30
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Retry after (seconds)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page","urn:alm:descriptor:com.tectonic.ui:number"},order=12
	RetryAfterSeconds *int32 `json:"retryAfterSeconds,omitempty"`

	// message is a sentence for people, shown on the built-in page and in the
	// answers of the other protocols. It is one line of text.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\x00-\\x1f\\x7f]')",message="message must be one line of text, without line breaks and other control characters"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Message",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page","urn:alm:descriptor:com.tectonic.ui:text"},order=13
	Message string `json:"message,omitempty"`

	// configMapName names a ConfigMap with the team's own content, in the
	// namespace of the Service. It must carry the label
	// mycrd.com/responder: content, by which its owner agrees that it is
	// published. Where it is missing or invalid, the built-in page answers.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="configMapName must be a ConfigMap's name: lower-case letters, digits, '-' and '.', for example 'storefront-page'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="ConfigMap with the team's content",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page","urn:alm:descriptor:com.tectonic.ui:text"},order=14
	ConfigMapName string `json:"configMapName,omitempty"`

	// replicas is how many responder Pods the namespace has at least; the
	// greatest number among the pages of a namespace holds.
	// +optional
	// +kubebuilder:default=2
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Responder Pods",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page","urn:alm:descriptor:com.tectonic.ui:podCount"},order=15
	Replicas *int32 `json:"replicas,omitempty"`

	// probes are requests that get the status 200 though the Service is in
	// outage, so that a load balancer does not eject the one that still answers.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Probes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page","urn:alm:descriptor:com.tectonic.ui:advanced"},order=16
	Probes *Probes `json:"probes,omitempty"`
}

// Probes distinguishes the requests of load balancers and kubelets from those of
// clients. A request is a probe if its path or its user agent is listed.
type Probes struct {
	// paths are the request paths of probes, compared as a whole, without the
	// query. An empty list means that no path makes a request a probe.
	// +optional
	// +listType=set
	// +kubebuilder:default={"/healthz","/livez","/readyz","/health","/healthcheck","/ping"}
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=256
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^/[!-~]*$') && !self.contains('?') && !self.contains('#')",message="each of probes.paths must be the path of a URL that begins with '/', without query and fragment, for example '/healthz'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Paths of probes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page.probes","urn:alm:descriptor:com.tectonic.ui:advanced"},order=17
	Paths []string `json:"paths,omitzero"`

	// userAgents are what the User-Agent header of probes begins with. An empty
	// list means that no user agent makes a request a probe.
	// +optional
	// +listType=set
	// +kubebuilder:default={"kube-probe/","ELB-HealthChecker/","GoogleHC/","Edge Health Probe","Envoy/HC","Consul Health Check"}
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=128
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[!-~]([ -~]*[!-~])?$')",message="each of probes.userAgents must be the printable beginning of a User-Agent header, for example 'kube-probe/'; an empty one would make every request a probe"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="User agents of probes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.page.probes","urn:alm:descriptor:com.tectonic.ui:advanced"},order=18
	UserAgents []string `json:"userAgents,omitzero"`
}

// PodTemplateFallback names the PodTemplate of fallback Pods, and how they join
// the Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.__namespace__) || size(self.__namespace__) == 0 || (has(self.name) && size(self.name) > 0)",message="podTemplate.namespace needs podTemplate.name: a namespace alone names no PodTemplate"
// +kubebuilder:validation:XValidation:rule="!has(self.publish) || self.publish != 'SelectorLabels' || !has(self.activation) || self.activation == 'OnDemand'",message="publish SelectorLabels needs activation OnDemand: a standby Pod with the application's labels would take its traffic before any outage"
type PodTemplateFallback struct {
	// name of the core PodTemplate. Absent means the operator's settings
	// POD_TEMPLATE and POD_TEMPLATE_NS.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="podTemplate.name must be a PodTemplate's name: lower-case letters, digits, '-' and '.', for example 'storefront-fallback'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name of the PodTemplate",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.podTemplate","urn:alm:descriptor:com.tectonic.ui:text"},order=21
	Name string `json:"name,omitempty"`

	// namespace of the PodTemplate: the operator's namespace (the default) or
	// the Service's own. No other is allowed. It needs a name.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="podTemplate.namespace must be a namespace's name: lower-case letters, digits and '-', for example 'shop'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Namespace of the PodTemplate",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.podTemplate","urn:alm:descriptor:com.tectonic.ui:text"},order=22
	Namespace string `json:"namespace,omitempty"`

	// activation is OnDemand (the Pod is made in an outage) or Standby (the Pod
	// runs before the outage).
	// +optional
	// +kubebuilder:default=OnDemand
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Activation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.podTemplate","urn:alm:descriptor:com.tectonic.ui:select:OnDemand","urn:alm:descriptor:com.tectonic.ui:select:Standby"},order=23
	Activation Activation `json:"activation,omitempty"`

	// publish is EndpointSlice (the Pod is published in a slice of the
	// operator's, and carries none of the application's labels) or
	// SelectorLabels (the Pod carries the labels of the Service's selector; only
	// with OnDemand).
	// +optional
	// +kubebuilder:default=EndpointSlice
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Publishing",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.podTemplate","urn:alm:descriptor:com.tectonic.ui:select:EndpointSlice","urn:alm:descriptor:com.tectonic.ui:select:SelectorLabels"},order=24
	Publish Publish `json:"publish,omitempty"`
}

// Activation is when a fallback Pod is made.
// +kubebuilder:validation:Enum=OnDemand;Standby
type Activation string

const (
	// ActivationOnDemand makes the Pod in an outage.
	ActivationOnDemand Activation = "OnDemand"
	// ActivationStandby keeps the Pod running before the outage.
	ActivationStandby Activation = "Standby"
)

// Publish is how a fallback Pod becomes an endpoint of the Service.
// +kubebuilder:validation:Enum=EndpointSlice;SelectorLabels
type Publish string

const (
	// PublishEndpointSlice publishes the Pod in a slice of the operator's.
	PublishEndpointSlice Publish = "EndpointSlice"
	// PublishSelectorLabels lets the Service select the Pod by its labels.
	PublishSelectorLabels Publish = "SelectorLabels"
)

// BackupFallback names a backup Service.
type BackupFallback struct {
	// name of the backup Service. Its own ready endpoints become the standby,
	// port by port name, or the single port of both.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="service.name must be a Service's name: lower-case letters, digits and '-', for example 'storefront-static'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Name of the backup Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:fallback.service","urn:alm:descriptor:com.tectonic.ui:text"},order=31
	Name string `json:"name"`
}
