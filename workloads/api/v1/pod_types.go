package v1

import (
	corev1 "k8s.io/api/core/v1"
)

// PodSettings is what a Pod asks of the cluster. All else of the Pod is the operator's.
type PodSettings struct {
	// resources of the container.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.claims) && (!has(self.limits) || size(self.limits) <= 16) && (!has(self.requests) || size(self.requests) <= 16)",message="pod.resources must have at most 16 limits and 16 requests, and no claims"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:pod","urn:alm:descriptor:com.tectonic.ui:resourceRequirements"},order=71
	Resources corev1.ResourceRequirements `json:"resources,omitempty,omitzero"`

	// nodeSelector are labels that the node must have, at most 16.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="pod.nodeSelector must have label keys of at most 317 characters and label values of at most 63"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Node selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:pod","urn:alm:descriptor:com.tectonic.ui:selector:core:v1:Node"},order=72
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`

	// tolerations of taints of the node, at most 16.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(t, (!has(t.key) || size(t.key) <= 317) && (!has(t.value) || size(t.value) <= 63))",message="pod.tolerations must have keys of at most 317 characters and values of at most 63"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:pod","urn:alm:descriptor:com.tectonic.ui:advanced"},order=73
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// imagePullSecrets name Secrets of the namespace with which the image is pulled, at
	// most 8.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=253
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="each of pod.imagePullSecrets must be a Secret's name, for example 'registry'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image pull Secrets",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:pod","urn:alm:descriptor:com.tectonic.ui:advanced"},order=74
	ImagePullSecrets []string `json:"imagePullSecrets,omitempty"`
}
