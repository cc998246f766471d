package v1

// Conditions of the kinds that run something. Each lists its reasons per status value.
const (
	// ConditionReady is True while the workload answers, and is as its spec says but for
	// what its storage class does not allow. Where another change is refused it is False
	// although the workload goes on answering; the message says so, and what to do.
	//
	//	True:  Running, StorageDenied
	//	False: Starting, Replacing, Suspended, CreateDenied, NameTaken, SecretInvalid,
	//	       ImagePullFailing, PodFailing, Unschedulable, StoragePending, StorageTerminating,
	//	       NodeLost
	ConditionReady = "Ready"

	// ConditionProtected is True while a fallback answers, or would at once, for the
	// Service. The reason is that of the core's ServiceFallback where it has one.
	//
	//	True:  StandbyReady, StandbyServing, EndpointsReady, Maintenance, FallbackServing,
	//	       and others that the core has for a Service that is Armed or Covered
	//	False: FallbackUnavailable, FallbackNone, FallbackPending, CreateDenied, NameTaken,
	//	       and those that the core has for a Service that is not
	ConditionProtected = "Protected"
)

// Conditions of WebApps alone.
const (
	// ConditionDatabaseReady is True while the Database of the WebApp is Ready. The reason is that
	// of the Database where it has one.
	//
	//	True:  Running, StorageDenied, NoDatabase
	//	False: DatabasePending, DatabaseTypeUnknown, DatabaseTypeChanged, CreateDenied, NameTaken,
	//	       and those of a Database that is not Ready
	ConditionDatabaseReady = "DatabaseReady"

	// ConditionScalingActive is True while the number of Pods follows the traffic. It is absent
	// where autoscaling is off.
	//
	//	True:  TrafficKnown
	//	False: TrafficUnknown, AutoscalerPresent, ScaleDenied
	ConditionScalingActive = "ScalingActive"
)

// Reasons of ConditionReady.
const (
	// ReasonRunning: the workload answers.
	ReasonRunning = "Running"
	// ReasonStarting: the Pod is being made, or starts in good order.
	ReasonStarting = "Starting"
	// ReasonReplacing: the next Pod is being tried out, and what runs goes on; or the Pod is
	// ending, and the next one follows.
	ReasonReplacing = "Replacing"
	// ReasonSuspended: spec.suspend took the Pod away.
	ReasonSuspended = "Suspended"
	// ReasonCreateDenied: the API server refuses an object: quota, limit range, Pod
	// Security, admission, a permission, or an invalid field.
	ReasonCreateDenied = "CreateDenied"
	// ReasonStorageDenied: the workload answers, and the API server refuses to let its claim
	// grow, or to change what becomes of it or what is noted on it.
	ReasonStorageDenied = "StorageDenied"
	// ReasonNameTaken: an object that is not the operator's has the name of one that it
	// would make. It is left alone.
	ReasonNameTaken = "NameTaken"
	// ReasonSecretInvalid: the Secret with the credentials is missing, or lacks a key.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonImagePullFailing: the image cannot be pulled. Of this reason, ReasonPodFailing and
	// ReasonUnschedulable the message says whether what runs goes on.
	ReasonImagePullFailing = "ImagePullFailing"
	// ReasonPodFailing: the container ends again and again, or cannot be created.
	ReasonPodFailing = "PodFailing"
	// ReasonUnschedulable: no node takes the Pod.
	ReasonUnschedulable = "Unschedulable"
	// ReasonStoragePending: the claim has no volume yet.
	ReasonStoragePending = "StoragePending"
	// ReasonStorageTerminating: the claim is being deleted, and the data goes with it. The
	// operator takes no Pod away that holds it, and makes none that would use it.
	ReasonStorageTerminating = "StorageTerminating"
	// ReasonNodeLost: the Pod is ending on a node that does not answer. It has a volume,
	// so that the operator does not force it.
	ReasonNodeLost = "NodeLost"
)

// Reasons of ConditionProtected that are not the core's.
const (
	// ReasonFallbackUnavailable: the API server does not serve ServiceFallbacks: the core,
	// critical-service-operator, is not installed.
	ReasonFallbackUnavailable = "FallbackUnavailable"
	// ReasonFallbackNone: spec.fallback.none says that nothing answers.
	ReasonFallbackNone = "FallbackNone"
	// ReasonFallbackPending: the core has not looked at the ServiceFallback yet.
	ReasonFallbackPending = "FallbackPending"
)

// Reasons of WebApps: of ConditionReady, ConditionDatabaseReady and ConditionScalingActive.
const (
	// ReasonConfigMissing: the AppConfig that spec.configName names is not there, or has no
	// ConfigMap yet. What runs goes on as it is.
	ReasonConfigMissing = "ConfigMissing"
	// ReasonNoDatabase: spec.dbImage is absent, so that there is no database to wait for.
	ReasonNoDatabase = "NoDatabase"
	// ReasonDatabasePending: the Database was made, and says nothing of itself yet.
	ReasonDatabasePending = "DatabasePending"
	// ReasonDatabaseTypeUnknown: the name of spec.dbImage does not say which engine it is.
	ReasonDatabaseTypeUnknown = "DatabaseTypeUnknown"
	// ReasonDatabaseTypeChanged: spec.dbImage is of another engine than the data. The database
	// goes on as it is.
	ReasonDatabaseTypeChanged = "DatabaseTypeChanged"
	// ReasonTrafficKnown: the number of Pods follows the traffic.
	ReasonTrafficKnown = "TrafficKnown"
	// ReasonTrafficUnknown: no Pod says how many requests it served. The number of Pods stays.
	ReasonTrafficUnknown = "TrafficUnknown"
	// ReasonAutoscalerPresent: an autoscaler that is not the operator's targets the WebApp or its
	// Deployment, and is left alone.
	ReasonAutoscalerPresent = "AutoscalerPresent"
	// ReasonScaleDenied: the API server refuses the new number of Pods.
	ReasonScaleDenied = "ScaleDenied"
)
