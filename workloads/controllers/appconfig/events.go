package appconfig

// Reasons of the events, which are on the AppConfig. Those of its condition Ready are events
// too, when it becomes False for them.
const (
	// eventConfigMapCreated: the settings are in a ConfigMap.
	eventConfigMapCreated = "ConfigMapCreated"
	// eventWorkloadUpdated: a workload takes another ConfigMap, and rolls.
	eventWorkloadUpdated = "WorkloadUpdated"
)
