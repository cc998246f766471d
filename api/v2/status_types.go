package v2

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ProtectionStatus is the operator's last observation. CriticalService and ServiceFallback
// have it in common.
type ProtectionStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1 until
	// the operator has looked.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=40
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, FallbackReady, FailoverReady, Outage and Overridden, and
	// Stalled while no waiting makes Ready True.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// services counts the matched Services by state.
	// +optional
	// +kubebuilder:default={total:0,ignored:0,arming:0,armed:0,exposed:0,covered:0}
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Services by state",order=2
	Services ServiceCounts `json:"services"`

	// details lists the matched Services, sorted by namespace and name. It
	// holds at most 100: where more match, those in outage come first, and
	// services.total counts them all.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Services",order=10
	Details []ServiceStatus `json:"details,omitempty"`

	// outages lists the outages of the Services that this object governs, the
	// latest first: at most 10 of one Service and 100 in all. Those that are under
	// way have no end.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Outages",order=30
	Outages []Outage `json:"outages,omitempty"`
}

// DetailOf is what the status says of a Service; nil if it does not list it.
func (s *ProtectionStatus) DetailOf(namespace, name string) *ServiceStatus {
	i := slices.IndexFunc(s.Details, func(d ServiceStatus) bool { return d.Namespace == namespace && d.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Details[i]
}

const (
	// MaxDetails is the greatest number of Services listed in a status.
	MaxDetails = 100
	// MaxOutages is the greatest number of outages listed in a status.
	MaxOutages = 100
	// MaxOutagesOfService is how many of them may be of one Service.
	MaxOutagesOfService = 10
)

// ServiceCounts counts the matched Services by state. The states add up to the
// total.
type ServiceCounts struct {
	// total is the number of Services that this object matches.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Matched Services",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Total int32 `json:"total"`

	// ignored is the number of Services that cannot or must not be protected
	// by this object.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ignored",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Ignored int32 `json:"ignored"`

	// arming is the number of Services that answer by themselves but whose
	// fallback is not prepared.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Arming",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	Arming int32 `json:"arming"`

	// armed is the number of Services that answer by themselves and whose
	// fallback is prepared.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Armed",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Armed int32 `json:"armed"`

	// exposed is the number of Services in outage for which nothing answers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Exposed",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	Exposed int32 `json:"exposed"`

	// covered is the number of Services in outage whose fallback answers.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Covered",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	Covered int32 `json:"covered"`
}

// ServiceStatus is what is known of one matched Service.
type ServiceStatus struct {
	// namespace of the Service.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Namespace of the Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	Namespace string `json:"namespace"`

	// name of the Service.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name of the Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=12
	Name string `json:"name"`

	// state is one of Ignored, Arming, Armed, Exposed and Covered.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="State",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"},order=13
	State ServiceState `json:"state"`

	// reason is a CamelCase word that says why the Service is in this state.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Reason",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase:reason"},order=14
	Reason string `json:"reason"`

	// message explains the state to a person, with the names of the objects and
	// what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=15
	Message string `json:"message,omitempty"`

	// since is when the Service was first seen in this state.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Since",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=16
	Since metav1.Time `json:"since"`

	// cause is what explains the outage, so far as the operator could find out. It
	// is absent while the Service is not in outage.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cause",order=17
	Cause *OutageCause `json:"cause,omitempty"`

	// overriddenBy is the object that governs the Service in place of this one; absent
	// unless the reason is Overridden.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Governed by",order=41
	OverriddenBy *PolicyReference `json:"overriddenBy,omitempty"`

	// failover is the result of the operator's last self-test of the standby: whether the
	// fallback would answer now. It is absent while the Service is Ignored.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failover",order=24
	Failover *Failover `json:"failover,omitempty"`
}

// PolicyReference names a CriticalService, or a ServiceFallback of the Service's namespace.
type PolicyReference struct {
	// kind is CriticalService or ServiceFallback.
	// +required
	// +kubebuilder:validation:Enum=CriticalService;ServiceFallback
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Kind of the object that governs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=42
	Kind string `json:"kind"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name of the object that governs",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=43
	Name string `json:"name"`
}

// Failover is what the condition FailoverReady sums up, for one Service.
type Failover struct {
	// status is True if the standby answered on every port, False if it did not or if a
	// problem leaves the Service without a fallback, and Unknown if nothing was tested.
	// +required
	// +kubebuilder:validation:Enum=True;False;Unknown
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Failover works",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=25
	Status metav1.ConditionStatus `json:"status"`

	// reason is StandbyAnswers, StandbySilent, NotProtected or NotTested.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Reason of the failover status",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase:reason"},order=26
	Reason string `json:"reason"`

	// message explains the status to a person: what did not answer, and what to do.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message of the failover status",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=27
	Message string `json:"message,omitempty"`

	// port is the number of the Service's port that did not answer, the first where there
	// are several; absent where every port answered or none was tested.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Port that did not answer",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=28
	Port int32 `json:"port,omitempty"`
}

// Outage is one time during which a Service had no ready endpoint of its own, as
// the operator saw it.
type Outage struct {
	// namespace of the Service.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Namespace of the Service in outage",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=31
	Namespace string `json:"namespace"`

	// name of the Service.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name of the Service in outage",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=32
	Name string `json:"name"`

	// began is when the outage was first seen.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Began",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=33
	Began metav1.MicroTime `json:"began"`

	// covered is when the fallback was first seen to answer; absent if it did not.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Covered",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=34
	Covered *metav1.MicroTime `json:"covered,omitempty"`

	// ended is when the Service was first seen to answer by itself again, or not to
	// be protected any more; absent while the outage is under way.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ended",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=35
	Ended *metav1.MicroTime `json:"ended,omitempty"`

	// fallback is the member of spec.fallback that answered; absent if none did.
	// +optional
	// +kubebuilder:validation:Enum=page;podTemplate;service
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Fallback that answered",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=36
	Fallback string `json:"fallback,omitempty"`

	// cause is the last that was known of what explains the outage.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cause of the outage",order=37
	Cause *OutageCause `json:"cause,omitempty"`
}
