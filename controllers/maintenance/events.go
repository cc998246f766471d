package maintenance

// Reasons of the events. What was done is told of the Service, after the write
// succeeded; what a person must act upon, of the ConfigMap.
const (
	// eventWorkloadRestored: the maintenance is over, and the application got its
	// replicas back.
	eventWorkloadRestored = "WorkloadRestored"
	// eventMaintenanceEnded: the maintenance is over, and its ConfigMap is deleted.
	eventMaintenanceEnded = "MaintenanceEnded"
	// eventMaintenanceInvalid: a ConfigMap announces nothing, because it is not valid.
	eventMaintenanceInvalid = "MaintenanceInvalid"
	// eventMaintenanceStuck: the operator may not end the maintenance.
	eventMaintenanceStuck = "MaintenanceStuck"
)
