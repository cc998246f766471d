package v1

// PodSettings is what a Pod asks of the cluster. All else of the Pod is the operator's.
type PodSettings struct {
	// resources of the container.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Resources",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:pod","urn:alm:descriptor:com.tectonic.ui:resourceRequirements"},order=71
	Resources PodResources `json:"resources,omitempty,omitzero"`

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
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Tolerations",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:pod","urn:alm:descriptor:com.tectonic.ui:advanced"},order=73
	Tolerations []Toleration `json:"tolerations,omitempty"`

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

// PodResources are those of a core container, without claims.
type PodResources struct {
	// limits are what the container may take at most, for example memory: 1Gi. At most 16.
	// +optional
	Limits Quantities `json:"limits,omitempty"`

	// requests are what its node keeps for it, for example cpu: 500m. At most 16.
	// +optional
	Requests Quantities `json:"requests,omitempty"`
}

// Toleration is that of a core Pod.
type Toleration struct {
	// key of the taint; empty, with operator Exists, is all of them.
	// +optional
	// +kubebuilder:validation:MaxLength=317
	Key string `json:"key,omitempty"`

	// operator compares the value: Equal (the default), Exists, or Lt and Gt where the
	// cluster has them.
	// +optional
	// +kubebuilder:validation:Enum="";Exists;Equal;Lt;Gt
	Operator string `json:"operator,omitempty"`

	// value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// effect of the taint; empty is all of them.
	// +optional
	// +kubebuilder:validation:Enum="";NoSchedule;PreferNoSchedule;NoExecute
	Effect string `json:"effect,omitempty"`

	// tolerationSeconds is how long a taint with the effect NoExecute is tolerated. Without
	// it, for ever.
	// +optional
	TolerationSeconds *int64 `json:"tolerationSeconds,omitempty"`
}
