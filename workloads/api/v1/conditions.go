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
	//	       NodeLost; of a WebApp also ConfigMissing, DatabaseTypeUnknown, DatabaseTypeChanged
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
