package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// ETCDInstance runs an etcd cluster of one to nine members, behind a Service of its name. While
// no member answers, the Service's clients get the answer of a ServiceFallback: UNAVAILABLE,
// after which clients of etcd retry.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +operator-sdk:csv:customresourcedefinitions:displayName="etcd Instance",order=5,resources={{StatefulSet,v1},{Pod,v1},{Service,v1},{PersistentVolumeClaim,v1},{ConfigMap,v1},{Secret,v1},{PodDisruptionBudget,v1},{ServiceFallback,v2}}
// +kubebuilder:resource:scope=Namespaced,shortName=etcd,path=etcdinstances,singular=etcdinstance
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.status.state`,description="deploying, running or failed"
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.readyReplicas`,description="How many members are healthy and vote"
// +kubebuilder:printcolumn:name="Members",type=integer,JSONPath=`.status.replicas`,description="How many members there are"
// +kubebuilder:printcolumn:name="Version",type=string,JSONPath=`.status.version`,description="The lowest version that a member runs"
// +kubebuilder:printcolumn:name="TLS",type=boolean,JSONPath=`.spec.with_tls_bundle`,description="Whether peers and clients need certificates"
// +kubebuilder:printcolumn:name="Protected",type=string,JSONPath=`.status.conditions[?(@.type=="Protected")].status`,priority=1,description="True while a fallback would answer in its place"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready has its value"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.message`,priority=1,description="How the cluster stands"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 52 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of an ETCDInstance is that of its Service and its StatefulSet: at most 52 lower-case letters, digits and '-', beginning with a letter, for example 'my-super-etcd'"
type ETCDInstance struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says how the cluster runs. Absent is one member without a volume.
	// +optional
	// +kubebuilder:default={}
	Spec ETCDInstanceSpec `json:"spec,omitempty,omitzero"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status ETCDInstanceStatus `json:"status,omitempty,omitzero"`
}

// ETCDInstanceSpec says how the cluster runs.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)",message="storage must not be added or removed, because the data is not moved: create another ETCDInstance with restore.fromInstance"
// +kubebuilder:validation:XValidation:rule="has(self.restore) == has(oldSelf.restore)",message="restore must not be added or removed, because data is restored only into an ETCDInstance that has none: create another one"
// +kubebuilder:validation:XValidation:rule="!has(self.restore) || has(self.storage)",message="restore needs storage, because a snapshot is restored onto a volume: add for example storage: {size: 1Gi}"
type ETCDInstanceSpec struct {
	// replicas is the number of members, 1 to 9. An even number survives no more failures than
	// the odd one below it. The members come and go one by one.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=1
	Replicas int32 `json:"replicas,omitempty"`

	// with_tls_bundle has peers and clients use certificates, which the operator makes and
	// renews. The client's are in the Secret NAME-tls-client. It cannot be changed.
	// +optional
	// +kubebuilder:default=false
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="with_tls_bundle must not be changed, because members with certificates and without do not understand each other: create another ETCDInstance"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="TLS",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=2
	WithTLSBundle bool `json:"with_tls_bundle,omitempty"` //nolint:tagliatelle // The document's name.

	// image is etcd's image, with its version as the tag. Absent means what runs, and at first
	// the operator's setting (ETCD_IMAGE). A change replaces the members one by one, and may
	// raise the minor version by one.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/]*:v?[0-9]{1,4}[.][0-9]{1,4}[.][0-9]{1,4}([-._][-a-zA-Z0-9._]*)?(@sha256:[0-9a-f]{64})?$')",message="image must be the name of an image whose tag is the version of etcd, for example 'quay.io/coreos/etcd:v3.6.5'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=10
	Image string `json:"image,omitempty"`

	// storage is the volume of each member. Absent means that the data of a member lives and
	// dies with its Pod. It can be neither added nor removed later.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage",order=20
	Storage *ETCDStorage `json:"storage,omitempty"`

	// restore is where the first data comes from. Absent means that there is none. It cannot be
	// added, changed or removed later.
	// +optional
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="restore must not be changed, because data is restored only into an ETCDInstance that has none: create another one"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Restore",order=30
	Restore *ETCDRestore `json:"restore,omitempty"`

	// backup says when a snapshot is stored without being asked for.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backup",order=40
	Backup ETCDBackup `json:"backup,omitempty,omitzero"`

	// fallback is what answers while no member does. Absent means the page with its defaults:
	// UNAVAILABLE of gRPC.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fallback",order=60
	Fallback *workloadsv1.ServiceProtection `json:"fallback,omitempty"`

	// pod is what the Pod of each member asks of the cluster. A change replaces the Pods one by
	// one.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=70
	Pod workloadsv1.PodSettings `json:"pod,omitempty,omitzero"`
}

// ETCDStorage is the volume of each member. It cannot be changed, because a StatefulSet keeps
// what its claims are made from.
//
// +kubebuilder:validation:XValidation:rule="self.size == oldSelf.size",message="storage.size must not be changed: create another ETCDInstance with restore.fromInstance"
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName must not be changed, because a claim keeps its class: create another ETCDInstance with restore.fromInstance"
type ETCDStorage struct {
	// size of the volume, 1Mi to 1Pi. etcd keeps at most 2Gi of data.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') && quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0",message="size must be a quantity from 1Mi to 1Pi, without a blank, for example '1Gi'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:text"},order=21
	Size string `json:"size"`

	// storageClassName names the StorageClass. Absent means the cluster's default; empty
	// means volumes that an administrator made.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:io.kubernetes:StorageClass"},order=22
	StorageClassName *string `json:"storageClassName,omitempty"`

	// deletionPolicy is what becomes of the claims when the ETCDInstance is deleted: Retain
	// keeps them, Delete lets the cluster's garbage collector delete them, with the data. The
	// claim of a member that is taken away is always kept.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deletion policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:select:Retain","urn:alm:descriptor:com.tectonic.ui:select:Delete"},order=23
	DeletionPolicy workloadsv1.DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// ETCDRestore is where the first data comes from: exactly one of its members.
//
// +kubebuilder:validation:XValidation:rule="(has(self.fromInstance) && size(self.fromInstance) > 0) != (has(self.upload) && self.upload)",message="restore must have exactly one of fromInstance and upload: true"
type ETCDRestore struct {
	// fromInstance names an ETCDInstance of the namespace, of which a snapshot is taken.
	// +optional
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="restore.fromInstance must be the name of an ETCDInstance, for example 'my-super-etcd'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="From instance",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:restore","urn:alm:descriptor:com.tectonic.ui:text"},order=31
	FromInstance string `json:"fromInstance,omitempty"`

	// upload waits for a snapshot that is sent to the subresource restore.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Upload",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:restore","urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=32
	Upload bool `json:"upload,omitempty"`
}

// ETCDBackup says when a snapshot is stored without being asked for.
type ETCDBackup struct {
	// beforeDeletion keeps the ETCDInstance, when it is deleted, until a snapshot lies in the
	// claim NAME-backup.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Before deletion",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:backup","urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=41
	BeforeDeletion bool `json:"beforeDeletion,omitempty"`
}

// ETCDInstanceState is the document's summary of an ETCDInstance.
// +kubebuilder:validation:Enum="";deploying;running;failed
type ETCDInstanceState string

const (
	// ETCDNone is that of an ETCDInstance that the operator has not looked at.
	ETCDNone ETCDInstanceState = ""
	// ETCDDeploying is that of one that has never had a quorum, or whose members change.
	ETCDDeploying ETCDInstanceState = "deploying"
	// ETCDRunning is that of one that answers and is as its spec says.
	ETCDRunning ETCDInstanceState = "running"
	// ETCDFailed is that of one for which a person has to do what message says.
	ETCDFailed ETCDInstanceState = "failed"
)

// ETCDInstanceStatus is the operator's last observation.
type ETCDInstanceStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1 until
	// the operator has looked.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// state is empty, deploying, running or failed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="State",xDescriptors={"urn:alm:descriptor:io.kubernetes.phase"},order=2
	State ETCDInstanceState `json:"state,omitempty"`

	// message says how the cluster stands, and what to do where a person has to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	Message string `json:"message,omitempty"`

	// replicas is the number of members, learners included.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Replicas int32 `json:"replicas,omitempty"`

	// readyReplicas is the number of members that are healthy and vote.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Healthy members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	ReadyReplicas int32 `json:"readyReplicas,omitempty"`

	// version is the lowest that a member runs.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Version",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Version string `json:"version,omitempty"`

	// dbSizeBytes is the size of the largest member's data. It is noted with other changes, and
	// at least every five minutes.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Size of the data in bytes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=7
	DBSizeBytes int64 `json:"dbSizeBytes,omitempty"`

	// revision is that of the data. It is noted as dbSizeBytes is.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revision",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=8
	Revision int64 `json:"revision,omitempty"`

	// clusterID is etcd's own, in hexadecimal digits, from the first time that it had a quorum.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Cluster ID",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=9
	ClusterID string `json:"clusterID,omitempty"`

	// members are those that the cluster last listed.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Members",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=10
	Members []ETCDMember `json:"members,omitempty"`

	// backup is the last snapshot that was asked for, by the annotation workloads.mycrd.com/backup or by
	// spec.backup.beforeDeletion.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=12
	Backup *ETCDStoredBackup `json:"backup,omitempty"`

	// selector selects the Pods, as text, for the subresource scale.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=11
	Selector string `json:"selector,omitempty"`

	// conditions are Ready, Quorum, Protected and, with spec.restore, Restored.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ETCDBackupState is how far a stored snapshot is.
// +kubebuilder:validation:Enum=running;stored;failed
type ETCDBackupState string

const (
	// ETCDBackupRunning is that of a snapshot that is being stored.
	ETCDBackupRunning ETCDBackupState = "running"
	// ETCDBackupStored is that of a snapshot that lies, whole, in the claim NAME-backup.
	ETCDBackupStored ETCDBackupState = "stored"
	// ETCDBackupFailed is that of a snapshot that is not stored; message says why, and what to do.
	ETCDBackupFailed ETCDBackupState = "failed"
)

// ETCDStoredBackup is a snapshot in the claim NAME-backup. The newest three are kept there.
type ETCDStoredBackup struct {
	// request is the value of the annotation workloads.mycrd.com/backup that this answers, or the UID of an
	// ETCDInstance that is being deleted.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Request",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=31
	Request string `json:"request"`

	// state is running, stored or failed.
	// +required
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="State of the backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=32
	State ETCDBackupState `json:"state"`

	// file is its name in the claim NAME-backup, for example my-super-etcd-1234.db, once it is
	// stored.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="File",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=33
	File string `json:"file,omitempty"`

	// revision is the last one that it holds.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Revision of the backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=34
	Revision int64 `json:"revision,omitempty"`

	// sizeBytes is the size of the file.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Size of the backup in bytes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=35
	SizeBytes int64 `json:"sizeBytes,omitempty"`

	// time is when it was stored, or failed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Time of the backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=36
	Time *metav1.Time `json:"time,omitempty"`

	// message says how it stands, and what to do where a person has to.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message of the backup",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=37
	Message string `json:"message,omitempty"`
}

// ETCDMember is one member of the cluster.
type ETCDMember struct {
	// name is that of its Pod.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Name",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=41
	Name string `json:"name"`

	// id is etcd's own, in hexadecimal digits.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="ID",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=42
	ID string `json:"id"`

	// healthy: it answers, and knows its leader.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Healthy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=43
	Healthy bool `json:"healthy,omitempty"`

	// learner: it gets the data, and does not vote yet.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Learner",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=44
	Learner bool `json:"learner,omitempty"`

	// leader: it leads the cluster.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Leader",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=45
	Leader bool `json:"leader,omitempty"`

	// version that it runs; empty while it does not answer.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Version of the member",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=46
	Version string `json:"version,omitempty"`
}

// ETCDInstanceList is a list of ETCDInstances.
//
// +kubebuilder:object:root=true
type ETCDInstanceList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the ETCDInstances.
	Items []ETCDInstance `json:"items"`
}
