package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Database runs one database: a Pod and a Service of its name. While the Pod is away, the
// Service's clients get the answer of a ServiceFallback, in the protocol of the database.
//
// It is one Pod, and not highly available. Its name is that of the Pod and of the Service.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +operator-sdk:csv:customresourcedefinitions:displayName="Database",order=1,resources={{Pod,v1},{Service,v1},{PersistentVolumeClaim,v1},{Secret,v1},{ServiceFallback,v2}}
// +kubebuilder:resource:scope=Namespaced,shortName=db;dbs,path=databases,singular=database
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`,description="The type of the database"
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True while the database answers and is as the spec says"
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.address`,description="Where clients of the cluster find it"
// +kubebuilder:printcolumn:name="Protected",type=string,JSONPath=`.status.conditions[?(@.type=="Protected")].status`,priority=1,description="True while a fallback would answer in its place"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,priority=1,description="Why Ready has its value"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What Ready means here"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 63 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of a Database is that of its Service: at most 63 lower-case letters, digits and '-', beginning with a letter, for example 'orders'"
type Database struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says which database runs, and how.
	// +required
	Spec DatabaseSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status DatabaseStatus `json:"status,omitempty,omitzero"`
}

// DatabaseSpec says which database runs, and how.
//
// +kubebuilder:validation:XValidation:rule="has(self.storage) == has(oldSelf.storage)",message="storage must not be added or removed, because the data is not moved: create another Database, and copy the data there"
type DatabaseSpec struct {
	// type is the engine: mongo, mysql or postgres. It must be set, and cannot be changed.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type must not be changed, because one engine cannot read the data of another: create another Database"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:mongo","urn:alm:descriptor:com.tectonic.ui:select:mysql","urn:alm:descriptor:com.tectonic.ui:select:postgres"},order=1
	Type DatabaseType `json:"type"`

	// image is the engine's image. It must be the official one, or take the same variables
	// and have its programs. Absent means what runs, or last had the data of the volume, and
	// without either the operator's setting for the type (DATABASE_IMAGE_MONGO,
	// DATABASE_IMAGE_MYSQL, DATABASE_IMAGE_POSTGRES). A change replaces the Pod.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@+]*$')",message="image must be the name of an image, for example 'mongo:4.0' or 'registry.example.com/mysql@sha256:…'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=10
	Image string `json:"image,omitempty"`

	// storage is the volume that keeps the data. Absent means that the data lives and dies
	// with the Pod. It can be neither added nor removed later.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage",order=20
	Storage *DatabaseStorage `json:"storage,omitempty"`

	// service says how clients reach the database.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Service",order=30
	Service DatabaseService `json:"service,omitempty,omitzero"`

	// credentials are the name and the password of the administrator.
	// +optional
	// +kubebuilder:default={}
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Credentials",order=40
	Credentials DatabaseCredentials `json:"credentials,omitempty,omitzero"`

	// suspend takes the Pod away. Volume, Service and Secret stay, and the fallback answers.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Suspend",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=50
	Suspend bool `json:"suspend,omitempty"`

	// fallback is what answers while the database does not. Absent means the page with its
	// defaults: the refusal of the engine's own protocol.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fallback",order=60
	Fallback *ServiceProtection `json:"fallback,omitempty"`

	// pod is what the Pod asks of the cluster. A change replaces the Pod.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=70
	Pod PodSettings `json:"pod,omitempty,omitzero"`
}

// DatabaseType is an engine.
// +kubebuilder:validation:Enum=mongo;mysql;postgres
type DatabaseType string

const (
	// DatabaseMongo is MongoDB.
	DatabaseMongo DatabaseType = "mongo"
	// DatabaseMySQL is MySQL.
	DatabaseMySQL DatabaseType = "mysql"
	// DatabasePostgres is PostgreSQL.
	DatabasePostgres DatabaseType = "postgres"
)

// DatabaseStorage is a volume.
//
// +kubebuilder:validation:XValidation:rule="has(self.storageClassName) == has(oldSelf.storageClassName) && (!has(self.storageClassName) || self.storageClassName == oldSelf.storageClassName)",message="storageClassName must not be changed, because a claim keeps its class: create another Database, and copy the data there"
type DatabaseStorage struct {
	// size of the volume, 1Mi to 1Pi. It may grow where the storage class allows that, and
	// never shrinks.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') && quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0",message="size must be a quantity from 1Mi to 1Pi, without a blank, for example '1Gi'"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') || !oldSelf.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') || quantity(self).compareTo(quantity(oldSelf)) >= 0",message="size must not become smaller, because a volume cannot shrink: create another Database, and copy the data there"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:text"},order=21
	Size string `json:"size"`

	// storageClassName names the StorageClass. Absent means the cluster's default; empty
	// means a volume that an administrator made. It cannot be changed.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Storage class",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:io.kubernetes:StorageClass"},order=22
	StorageClassName *string `json:"storageClassName,omitempty"`

	// deletionPolicy is what becomes of the claim when the Database is deleted: Retain
	// keeps it, Delete lets the cluster's garbage collector delete it, with the data.
	// +optional
	// +kubebuilder:default=Retain
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Deletion policy",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:storage","urn:alm:descriptor:com.tectonic.ui:select:Retain","urn:alm:descriptor:com.tectonic.ui:select:Delete"},order=23
	DeletionPolicy DeletionPolicy `json:"deletionPolicy,omitempty"`
}

// DeletionPolicy is what becomes of data when the object that it belongs to is deleted.
// +kubebuilder:validation:Enum=Retain;Delete
type DeletionPolicy string

const (
	// DeletionRetain keeps the data.
	DeletionRetain DeletionPolicy = "Retain"
	// DeletionDelete deletes it.
	DeletionDelete DeletionPolicy = "Delete"
)

// DatabaseService says how clients reach the database.
type DatabaseService struct {
	// type is NodePort (also from outside of the cluster, on a port of each node),
	// ClusterIP (from the cluster only) or LoadBalancer.
	// +optional
	// +kubebuilder:default=NodePort
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type of the Service",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:service","urn:alm:descriptor:com.tectonic.ui:select:NodePort","urn:alm:descriptor:com.tectonic.ui:select:ClusterIP","urn:alm:descriptor:com.tectonic.ui:select:LoadBalancer"},order=31
	Type DatabaseServiceType `json:"type,omitempty"`
}

// DatabaseServiceType is one of the types of Services that have an address.
// +kubebuilder:validation:Enum=ClusterIP;NodePort;LoadBalancer
type DatabaseServiceType string

const (
	// DatabaseServiceClusterIP is reached from the cluster only.
	DatabaseServiceClusterIP DatabaseServiceType = "ClusterIP"
	// DatabaseServiceNodePort is reached on a port of each node, too.
	DatabaseServiceNodePort DatabaseServiceType = "NodePort"
	// DatabaseServiceLoadBalancer has an address of the cloud, too.
	DatabaseServiceLoadBalancer DatabaseServiceType = "LoadBalancer"
)

// DatabaseCredentials name the Secret with the administrator's name and password.
//
// +kubebuilder:validation:XValidation:rule="(has(self.secretName) && size(self.secretName) > 0) == (has(oldSelf.secretName) && size(oldSelf.secretName) > 0) && (!has(self.secretName) || size(self.secretName) == 0 || self.secretName == oldSelf.secretName)",message="credentials.secretName must not be changed, because the engine took the password into its data: change the password in the engine and in the Secret, or create another Database"
type DatabaseCredentials struct {
	// secretName names a Secret of the namespace with the keys password and, but for mysql,
	// whose administrator is root, username. Empty means that the operator generates one,
	// NAME-credentials, with the keys username, password and uri. It cannot be changed: the
	// engine takes the password into its data when it first starts.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="secretName must be a Secret's name: lower-case letters, digits, '-' and '.', for example 'orders-admin'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Secret",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:credentials","urn:alm:descriptor:io.kubernetes:Secret"},order=41
	SecretName string `json:"secretName,omitempty"`
}

// DatabaseStatus is the operator's last observation.
type DatabaseStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1 until
	// the operator has looked.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// message says which objects were created.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Message",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Message string `json:"message,omitempty"`

	// podName names the Pod; absent while there is none.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pod",xDescriptors={"urn:alm:descriptor:io.kubernetes:Pod"},order=3
	PodName string `json:"podName,omitempty"`

	// address is the Service's name and port, for clients of the cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Address",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=4
	Address string `json:"address,omitempty"`

	// nodePort is the port of each node that leads to the database; absent for a Service
	// of type ClusterIP.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Port of the nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	NodePort int32 `json:"nodePort,omitempty"`

	// secretName names the Secret with the credentials.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Secret",xDescriptors={"urn:alm:descriptor:io.kubernetes:Secret"},order=6
	SecretName string `json:"secretName,omitempty"`

	// conditions are Ready and Protected.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// DatabaseList is a list of Databases.
//
// +kubebuilder:object:root=true
type DatabaseList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the Databases.
	Items []Database `json:"items"`
}
