package v2

// Names that the operator reads or writes on AppConfigs and on objects of other kinds.
const (
	// ReservedPrefix begins every label and annotation that only the operator gives a
	// meaning to.
	ReservedPrefix = "mycrd.com/"
	// LabelAppConfig names an AppConfig of the namespace: on a Deployment or a StatefulSet
	// the one that it uses, set by its owner; on a ConfigMap the one that it was made of.
	// The operator watches only objects that carry it.
	LabelAppConfig = ReservedPrefix + "appconfig"
	// AnnotationVersion holds spec.configuration.version: on an AppConfig of v1, which has
	// no field for it, and on the ConfigMap with these settings.
	AnnotationVersion = ReservedPrefix + "appconfig-version"
	// AnnotationRevision numbers the ConfigMaps of an AppConfig in the order in which they
	// were taken last. It is that of a Deployment's ReplicaSets: a rollback makes an old
	// one the newest.
	AnnotationRevision = ReservedPrefix + "appconfig-revision"
)
