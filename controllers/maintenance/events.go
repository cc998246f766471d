package maintenance

// Reasons of the events. What was done is reported on the Service, after the write
// succeeded; what needs a person, on the ConfigMap.
const (
	// eventWorkloadRestored: the maintenance is over, and the application got its
	// replicas back.
	eventWorkloadRestored = "WorkloadRestored"
	// eventMaintenanceEnded: the maintenance is over, and its ConfigMap is deleted.
	eventMaintenanceEnded = "MaintenanceEnded"
	// eventMaintenanceInvalid: a ConfigMap announces nothing, because it is invalid.
	eventMaintenanceInvalid = "MaintenanceInvalid"
	// eventMaintenanceStuck: the operator may not end the maintenance.
	eventMaintenanceStuck = "MaintenanceStuck"
)
