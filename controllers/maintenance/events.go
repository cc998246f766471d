package maintenance

// Reasons of the events, which are on the Maintenance.
const (
	// eventWorkloadRestored: the application got its replicas back.
	eventWorkloadRestored = "WorkloadRestored"
	// eventRestoreFailed: the operator could not give them back.
	eventRestoreFailed = "RestoreFailed"
	// eventMaintenanceEnded: the maintenance is over.
	eventMaintenanceEnded = "MaintenanceEnded"
	// eventScheduleInvalid: nothing is announced, because the schedule cannot be read.
	eventScheduleInvalid = "ScheduleInvalid"
)
