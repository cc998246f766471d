package v2

// Conditions of an AppConfig. Each lists its reasons per status value.
const (
	// ConditionReady is True while the ConfigMap with the settings is there, and every
	// workload that uses the AppConfig takes it.
	//
	//	True:  UpToDate
	//	False: NameTaken, FieldConflict, WriteDenied
	ConditionReady = "Ready"

	// ConditionStalled is True while Ready is False and no waiting makes it True. It is there
	// only while it is True, as kstatus has it.
	//
	//	True: NameTaken, FieldConflict
	ConditionStalled = "Stalled"
)

// Reasons of the conditions.
const (
	// ReasonUpToDate: the ConfigMap is there, and every workload takes it.
	ReasonUpToDate = "UpToDate"
	// ReasonNameTaken: an object that the operator did not make has the name of a ConfigMap
	// that it needs. It is left as it is, and workloads keep what they have.
	ReasonNameTaken = "NameTaken"
	// ReasonFieldConflict: another field manager has set envFrom in the container of a
	// workload, so that the operator does not.
	ReasonFieldConflict = "FieldConflict"
	// ReasonWriteDenied: the API server refuses to create a ConfigMap or to change a
	// workload, for example because of a quota or an admission webhook that fails. It is
	// retried.
	ReasonWriteDenied = "WriteDenied"
)
