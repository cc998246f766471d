package v1

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
