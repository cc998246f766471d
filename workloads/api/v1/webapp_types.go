package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WebApp runs a web application: Pods behind a Service of its name, and a Database for it.
// While no Pod is ready, the Service's clients get the answer of a ServiceFallback. Where
// autoScaleEnabled is set, the number of Pods follows the HTTP traffic.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
// +operator-sdk:csv:customresourcedefinitions:displayName="Web App",order=3,resources={{Deployment,v1},{Service,v1},{PodDisruptionBudget,v1},{Database,v1},{ServiceFallback,v2}}
// +kubebuilder:resource:scope=Namespaced,path=webapps,singular=webapp
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`,description="True while a Pod answers and the application is as the spec says"
// +kubebuilder:printcolumn:name="Replicas",type=integer,JSONPath=`.status.replicas`,description="How many Pods there are"
// +kubebuilder:printcolumn:name="RPS",type=string,JSONPath=`.status.requestsPerSecond`,description="HTTP requests per second of all Pods, while autoscaling is on"
// +kubebuilder:printcolumn:name="Database",type=string,JSONPath=`.status.conditions[?(@.type=="DatabaseReady")].status`,description="True while the database answers"
// +kubebuilder:printcolumn:name="Protected",type=string,JSONPath=`.status.conditions[?(@.type=="Protected")].status`,priority=1,description="True while a fallback would answer in its place"
// +kubebuilder:printcolumn:name="Scaling",type=string,JSONPath=`.status.conditions[?(@.type=="ScalingActive")].reason`,priority=1,description="Why the number of Pods follows the traffic, or not"
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1,description="What Ready means here"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name.size() <= 60 && self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="the name of a WebApp is that of its Service: at most 60 lower-case letters, digits and '-', beginning with a letter, for example 'shop'"
type WebApp struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what runs, and how it scales.
	// +required
	Spec WebAppSpec `json:"spec"`

	// status is what the operator observed; only the operator writes it.
	// +optional
	// +kubebuilder:default={observedGeneration:-1}
	Status WebAppStatus `json:"status,omitempty,omitzero"`
}

// WebAppSpec says what runs, and how it scales.
//
// +kubebuilder:validation:XValidation:rule="!self.autoScaleEnabled || has(self.trafficThreshold)",message="trafficThreshold is required while autoScaleEnabled is true: give the requests per second that one Pod is to serve, for example 100"
// +kubebuilder:validation:XValidation:rule="!has(self.maxReplicas) || self.maxReplicas >= self.minReplicas",message="maxReplicas must not be less than minReplicas"
// +kubebuilder:validation:XValidation:rule="!has(self.dbSize) || has(self.dbImage)",message="dbSize is the volume of the database, and needs dbImage"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.dbImage) || has(self.dbImage)",message="dbImage must not be removed, because the application would lose its database: delete the WebApp, whose volume is kept, or create another"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.dbImage) || has(self.dbSize) == has(oldSelf.dbSize)",message="dbSize must not be added or removed once there is a database, because the data is not moved: create another WebApp, and copy the data there"
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.dbType) || !has(oldSelf.dbImage) || (has(self.dbType) && self.dbType == oldSelf.dbType)",message="dbType must not be changed, because one engine cannot read the data of another: create another WebApp, and copy the data there"
type WebAppSpec struct {
	// appName is the name of the application, 1 to 63 characters. It is for people: the
	// objects have the name of the WebApp.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Application",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=1
	AppName string `json:"appName"`

	// image is that of the application, which serves HTTP on port. A change rolls the Pods;
	// while the new ones do not become ready, the old ones stay.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@+]*$')",message="image must be the name of an image, for example 'registry.example.com/shop:1'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=2
	Image string `json:"image"`

	// dbImage is the image of the database, which runs as the Database NAME-db. Absent means
	// that there is none. It cannot be removed.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z0-9][-a-zA-Z0-9._:/@+]*$')",message="dbImage must be the name of an image, for example 'mysql:8.0'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Image of the database",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=3
	DBImage string `json:"dbImage,omitempty"`

	// replicas is how many Pods there are, 0 to 500, by default 1. While autoScaleEnabled is
	// true it is only how many there are at first: the traffic decides after that.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=500
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=4
	Replicas *int32 `json:"replicas,omitempty"`

	// dbSize is the size of the database's volume, 1Mi to 1Pi. It may grow where the storage
	// class allows that, and never shrinks. Absent means that the data lives and dies with
	// the Pod of the database.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') && quantity(self).compareTo(quantity('1Mi')) >= 0 && quantity(self).compareTo(quantity('1Pi')) <= 0",message="dbSize must be a quantity from 1Mi to 1Pi, without a blank, for example '1Gi'"
	// +kubebuilder:validation:XValidation:rule="!self.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') || !oldSelf.matches('^[0-9]{1,19}([.][0-9]{1,9})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?$') || quantity(self).compareTo(quantity(oldSelf)) >= 0",message="dbSize must not become smaller, because a volume cannot shrink: create another WebApp, and copy the data there"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size of the database",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	DBSize string `json:"dbSize,omitempty"`

	// autoScaleEnabled lets the number of Pods follow the HTTP traffic. It puts a small
	// metering proxy into each Pod unless trafficSource names the application's own counter;
	// switching it on or off rolls the Pods then.
	// +optional
	// +kubebuilder:default=false
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Autoscaling",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"},order=6
	AutoScaleEnabled bool `json:"autoScaleEnabled"`

	// trafficThreshold is how many HTTP requests per second one Pod is to serve, 1 to
	// 1000000. With more for each of them there are more Pods. It is required while
	// autoScaleEnabled is true.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Requests per second and Pod",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"},order=7
	TrafficThreshold int32 `json:"trafficThreshold,omitempty"`

	// port is where the application listens for HTTP in its Pod, by default 80. 18080 and 18081
	// are those of the metering proxy. The Service listens on port 80.
	// +optional
	// +kubebuilder:default=80
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +kubebuilder:validation:XValidation:rule="self != 18080 && self != 18081",message="port must not be 18080 or 18081, where the metering proxy listens"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"},order=8
	Port int32 `json:"port,omitempty"`

	// dbType is the engine of dbImage: mongo, mysql or postgres. Absent means by the image's
	// name, which has to contain mongo, mysql, mariadb or postgres then. It cannot be changed.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Type of the database",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:select:mongo","urn:alm:descriptor:com.tectonic.ui:select:mysql","urn:alm:descriptor:com.tectonic.ui:select:postgres"},order=9
	DBType DatabaseType `json:"dbType,omitempty"`

	// minReplicas is the least number of Pods while autoscaling is on, 1 to 500, by default 1.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Least replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=10
	MinReplicas int32 `json:"minReplicas,omitempty"`

	// maxReplicas is the greatest number of Pods while autoscaling is on, 1 to 500. Absent
	// means 10, or replicas and minReplicas where they are more. Where it is given and
	// becomes less, Pods above it go at once; otherwise they go as after a fall of traffic.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Most replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=11
	MaxReplicas int32 `json:"maxReplicas,omitempty"`

	// trafficSource is a counter of HTTP requests that the application exports itself. Absent
	// means the metering proxy.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Source of the traffic",order=12
	TrafficSource *TrafficSource `json:"trafficSource,omitempty"`

	// configName is an AppConfig of the namespace, whose settings become variables of the
	// application. A change of them rolls the Pods. While there is none, no Pod is replaced.
	// +optional
	// +kubebuilder:validation:MaxLength=52
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="configName must be the name of an AppConfig, for example 'shop'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="App Config",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=13
	ConfigName string `json:"configName,omitempty"`

	// fallback is what answers while the application does not. Absent means the page with its
	// defaults.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Fallback",order=60
	Fallback *ServiceProtection `json:"fallback,omitempty"`

	// pod is what each Pod of the application asks of the cluster. A change rolls the Pods.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Pod",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:advanced"},order=70
	Pod PodSettings `json:"pod,omitempty,omitzero"`
}

// TrafficSource is a Prometheus counter of HTTP requests, in each Pod.
type TrafficSource struct {
	// port is where the Pod serves its metrics over HTTP.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port of the metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:trafficSource","urn:alm:descriptor:com.tectonic.ui:number"},order=121
	Port int32 `json:"port"`

	// path of the metrics, by default /metrics.
	// +optional
	// +kubebuilder:default=/metrics
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[-a-zA-Z0-9._~/]*$')",message="path must begin with '/' and have letters, digits, '-', '.', '_', '~' and '/' only, for example '/metrics'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Path of the metrics",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:trafficSource","urn:alm:descriptor:com.tectonic.ui:text"},order=122
	Path string `json:"path,omitempty"`

	// metric is the name of the counter, for example http_requests_total. The values of all
	// its series are added up.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-zA-Z_:][a-zA-Z0-9_:]*$')",message="metric must be the name of a Prometheus counter, for example 'http_requests_total'"
	// +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Metric",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:fieldGroup:trafficSource","urn:alm:descriptor:com.tectonic.ui:text"},order=123
	Metric string `json:"metric"`
}

// WebAppStatus is the operator's last observation.
type WebAppStatus struct {
	// observedGeneration is the generation of the spec that this status is about; -1 until
	// the operator has looked.
	// +optional
	// +kubebuilder:validation:Minimum=-1
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Observed generation",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=20
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// conditions are Ready, Protected, DatabaseReady, and ScalingActive where autoscaling is
	// on.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"},order=1
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// replicas is how many Pods there are.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=2
	Replicas int32 `json:"replicas"`

	// readyReplicas is how many of them are ready.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Ready replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=3
	ReadyReplicas int32 `json:"readyReplicas"`

	// desiredReplicas is how many there are to be.
	// +optional
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Desired replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"},order=4
	DesiredReplicas int32 `json:"desiredReplicas"`

	// requestsPerSecond are the HTTP requests of all Pods over the last 30 seconds, rounded to
	// two digits; absent unless autoscaling is on and the traffic is known.
	// +optional
	// +kubebuilder:validation:MaxLength=16
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Requests per second",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=5
	RequestsPerSecond string `json:"requestsPerSecond,omitempty"`

	// selector selects the Pods, for the scale subresource.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	// +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Selector",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:text"},order=6
	Selector string `json:"selector,omitempty"`
}

// WebAppList is a list of WebApps.
//
// +kubebuilder:object:root=true
type WebAppList struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard list metadata.
	metav1.ListMeta `json:"metadata,omitempty"`

	// items are the WebApps.
	Items []WebApp `json:"items"`
}
