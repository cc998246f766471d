package v2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Maintenance announces that Services of its own namespace are away on purpose: the page
// stands in for them with a message and an end, whatever their fallback is else. It takes
// nothing away by itself. Where the application was scaled to zero for it, the operator
// restores what it had, at the end or when the Maintenance is deleted.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +operator-sdk:csv:customresourcedefinitions:displayName="Maintenance",order=3,resources={{EndpointSlice,v1},{Deployment,v1},{StatefulSet,v1}}
// +kubebuilder:resource:scope=Namespaced,path=maintenances,singular=maintenance
// +kubebuilder:printcolumn:name="Services",type=string,JSONPath=`.spec.services`,description="Services that are away on purpose"
// +kubebuilder:printcolumn:name="Active",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`,description="True while the maintenance is announced, or the drill is under way"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].reason`,description="Why Active has its value"
// +kubebuilder:printcolumn:name="Until",type=string,JSONPath=`.status.until`,description="When it, or its window, ends"
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.next`,description="When the next window begins"
// +kubebuilder:printcolumn:name="Restored",type=string,JSONPath=`.status.conditions[?(@.type=="Restored")].reason`,description="What became of the workload that was taken away"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.spec.message`,priority=1,description="What visitors read"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Maintenance struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which Services are away, until when, and what visitors read.
	// +required
	Spec MaintenanceSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status MaintenanceStatus `json:"status,omitempty,omitzero"`
}

// MaintenanceSpec says which Services are away, until when, and what visitors read.
//
// +kubebuilder:validation:XValidation:rule="!has(self.recurring) || !has(self.until)",message="until is the end of a maintenance that happens once; with recurring, leave it out: each window ends after its duration"
// +kubebuilder:validation:XValidation:rule="!has(self.recurring) || !has(self.restore)",message="restore is for a maintenance that happens once; with recurring, leave it out"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.restore) || (has(self.restore) && self.restore == oldSelf.restore)",message="restore must not be changed or removed, because the workload is owed what it says: end this maintenance (delete it, or kubectl critsvc maintenance off) and begin another"
type MaintenanceSpec struct {
	// services are the names of the Services, 1 to 16. One that is not protected by a
	// CriticalService or a ServiceFallback gets no page.
	// +required
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="each of services must be a Service's name: lower-case letters, digits and '-', for example 'storefront'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Services",order=10
	Services []string `json:"services"`

	// purpose is Maintenance, or Drill for an outage that is a test: then nothing is
	// announced, the Services keep their own fallback, and, where restore says what was
	// taken away, the history says Drill.
	// +optional
	// +kubebuilder:default=Maintenance
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="purpose must not be changed: delete this Maintenance and make another"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Purpose",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:Maintenance","urn:alm:descriptor:com.tectonic.ui:select:Drill"},order=70
	Purpose MaintenancePurpose `json:"purpose,omitempty"`

	// message is a sentence for people: one line of text. Where there is one, the
	// built-in page with it goes before a team's own page.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[\\x00-\\x1f\\x7f]')",message="message must be one line of text, without line breaks and other control characters"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Message",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	Message string `json:"message,omitempty"`

	// until is when the maintenance ends, exact to the second. Visitors read it. Without
	// it, a maintenance that is not recurring lasts until it is deleted.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self >= timestamp('1970-01-01T00:00:00Z') && self <= timestamp('9999-12-31T23:59:59Z')",message="until must be a time of the years 1970 to 9999 in the form of RFC 3339, for example '2026-11-23T22:00:00Z'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Until",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=30
	Until *metav1.Time `json:"until,omitempty"`

	// recurring repeats the maintenance in windows, for example each Sunday at 2:00.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Recurring",order=40
	Recurring *Recurring `json:"recurring,omitempty"`

	// retryAfterSeconds is the value of the page's Retry-After header during the
	// maintenance, 1 to 86400. Without it, the header is the end, as a date; without an
	// end, what the page says else.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Retry after (seconds)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"},order=50
	RetryAfterSeconds *int32 `json:"retryAfterSeconds,omitempty"`

	// restore says which workload of the namespace was, or is about to be, scaled to zero
	// for this maintenance. The operator restores what status.owed says, if it is
	// permitted to by a Role (docs/maintenance.md). It cannot be changed once it is set.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Restore",order=60
	Restore *WorkloadReplicas `json:"restore,omitempty"`

	// ttlSecondsAfterFinished is how long a Maintenance that has ended and owes nothing
	// is kept, 0 to 2592000 (30 days), as that of a Job. Without it, it is kept until a
	// user deletes it. A recurring one never ends.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2592000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Kept after its end (seconds)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"},order=80
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// MaintenancePurpose is why Services are away.
//
// +kubebuilder:validation:Enum=Maintenance;Drill
type MaintenancePurpose string

const (
	// PurposeMaintenance is an outage that is announced to clients. It is the default.
	PurposeMaintenance MaintenancePurpose = "Maintenance"
	// PurposeDrill is a test: nothing is announced to clients, and the fallback is that of
	// an outage that was not planned.
	PurposeDrill MaintenancePurpose = "Drill"
)

// Recurring is when the windows of a maintenance begin, and how long each lasts.
type Recurring struct {
	// schedule is when a window begins, in the five fields of cron as a CronJob has them:
	// minute, hour, day of month, name or number of the month, day of week. "0 2 * * SUN"
	// is each Sunday at 2:00.
	// +required
	// +kubebuilder:validation:MinLength=9
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z*,/?-]+( [0-9A-Za-z*,/?-]+){4}$')",message="schedule must have the five fields of cron, separated by one space, for example '0 2 * * SUN'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule (cron)",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:recurring","urn:alm:descriptor:com.tectonic.ui:text"},order=41
	Schedule string `json:"schedule"`

	// timeZone is the zone of the schedule, by its name in the IANA database, for
	// example Europe/Berlin. Without it, the zone is UTC.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self.matches('^[A-Za-z0-9_+/-]*$') && self != 'Local'",message="timeZone must be a name of the IANA database, for example 'Europe/Berlin'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Time zone",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:recurring","urn:alm:descriptor:com.tectonic.ui:text"},order=42
	TimeZone string `json:"timeZone,omitempty"`

	// duration is how long each window lasts: 1m to 168h (a week), in whole seconds.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('1m') && duration(self) <= duration('168h') && duration(self).getMilliseconds() % 1000 == 0",message="duration must be between 1m and 168h (a week), in whole seconds, for example '2h'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Duration",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:recurring","urn:alm:descriptor:com.tectonic.ui:text"},order=43
	Duration metav1.Duration `json:"duration"`
}

// WorkloadReplicas is a workload of the namespace, and a number of its replicas.
//
// +kubebuilder:validation:XValidation:rule="has(self.deployment) != has(self.statefulSet)",message="name the workload in deployment or in statefulSet: exactly one of the two"
type WorkloadReplicas struct {
	// deployment is the name of a Deployment.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deployment",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:restore","urn:alm:descriptor:com.tectonic.ui:text"},order=61
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Deployment",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	Deployment string `json:"deployment,omitempty"`

	// statefulSet is the name of a StatefulSet.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="StatefulSet",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:restore","urn:alm:descriptor:com.tectonic.ui:text"},order=62
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="StatefulSet",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=12
	StatefulSet string `json:"statefulSet,omitempty"`

	// replicas is how many it had, 1 to 10000. What is restored is never more than what
	// the operator saw before they were taken.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:restore","urn:alm:descriptor:com.tectonic.ui:podCount"},order=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=13
	Replicas int32 `json:"replicas"`
}

// MaintenanceStatus is the operator's last observation.
type MaintenanceStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1 until
	// the operator has looked.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Active and, where the spec says what to restore, Restored; and
	// Stalled while a change is needed to begin, or to restore.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// since is when the maintenance, or the window that runs or was last, began.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Since",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Since *metav1.Time `json:"since,omitempty"`

	// until is when that ends, or ended; empty for a maintenance without an end.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Until",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Until *metav1.Time `json:"until,omitempty"`

	// next is when the next window of a recurring maintenance begins.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Next window",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Next *metav1.Time `json:"next,omitempty"`

	// ended is when nothing was announced and nothing owed.
	// ttlSecondsAfterFinished counts from here.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ended",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	Ended *metav1.Time `json:"ended,omitempty"`

	// owed is what the operator restores at the end: what spec.restore says, but no
	// more replicas than the workload had when the operator saw it first.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Owed",order=6
	Owed *WorkloadReplicas `json:"owed,omitempty"`

	// restored is what was owed, and has been written or was there already.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Restored",order=7
	Restored *WorkloadReplicas `json:"restored,omitempty"`

	// operator is the name by which the API server knows the operator, in most clusters
	// system:serviceaccount:NAMESPACE:critical-service-operator: the one that a
	// RoleBinding has to name to permit it to restore what is owed.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Operator",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=21
	Operator string `json:"operator,omitempty"`
}

// MaintenanceList is a list of Maintenances.
//
// +kubebuilder:object:root=true
type MaintenanceList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Maintenances.
	Items []Maintenance `json:"items"`
}

// Conditions of a Maintenance. Each lists its reasons per status value.
const (
	// MaintenanceActive is True while the maintenance is announced to the clients of its
	// Services, or the drill is under way.
	//
	//	True:  Announced, AwaitingApplication, Drill
	//	False: Scheduled, Ended, ScheduleInvalid
	MaintenanceActive = "Active"

	// MaintenanceRestored is there where the spec says what to restore: True once nothing
	// is owed to that workload.
	//
	//	True:    Restored, NothingTaken
	//	False:   Owed, RestoreFailed
	//	Unknown: NotPermitted
	MaintenanceRestored = "Restored"
)

// Reasons of MaintenanceActive.
const (
	// MaintenanceAnnounced: the page with the message is, or would be, what answers.
	MaintenanceAnnounced = "Announced"
	// MaintenanceAwaitingApplication: the end has come, and the page stays until the
	// application answers, for MaintenanceGrace at the most.
	MaintenanceAwaitingApplication = "AwaitingApplication"
	// MaintenanceDrill: a live drill is under way.
	MaintenanceDrill = "Drill"
	// MaintenanceScheduled: the next window of a recurring maintenance has not begun.
	MaintenanceScheduled = "Scheduled"
	// MaintenanceEnded: it is over.
	MaintenanceEnded = "Ended"
	// MaintenanceScheduleInvalid: the schedule or its time zone cannot be read, or it has
	// no window in the next years. Nothing is announced.
	MaintenanceScheduleInvalid = "ScheduleInvalid"
)

// Reasons of MaintenanceRestored.
const (
	// RestoreDone: the workload has its replicas back.
	RestoreDone = "Restored"
	// RestoreNothingTaken: the workload had no replicas, or did not exist, when the operator
	// saw it first, so that it is owed nothing.
	RestoreNothingTaken = "NothingTaken"
	// RestoreOwed: the workload gets back at the end what status.owed says.
	RestoreOwed = "Owed"
	// RestoreFailed: it could not be restored; the message says why.
	RestoreFailed = "RestoreFailed"
	// RestoreNotPermitted: the operator has not seen the workload yet, because no Role
	// permits it to restore this Maintenance and to scale the workload.
	RestoreNotPermitted = "NotPermitted"
)
