package v2

import criticalv2 "github.com/critical-service/operator/api/v2"

// Names that the operator reads or writes on AppConfigs and on objects of other kinds.
//
// They are below the prefix of the core, which is that of the group. The core only minds it in
// the selector of a Service, and these are on no Pod. Where a Service selects by a label of
// this operator, it has a prefix of its own: see api/v1.
const (
	// LabelAppConfig names an AppConfig of the namespace: on a Deployment or a StatefulSet
	// the one that it uses, set by its owner; on a ConfigMap the one that it was made of.
	// The operator watches only objects that carry it.
	LabelAppConfig = criticalv2.ReservedPrefix + "appconfig"
	// AnnotationVersion holds spec.configuration.version: on an AppConfig of v1, which has
	// no field for it, and on the ConfigMap with these settings. On an AppConfig of v2 it has
	// no effect.
	AnnotationVersion = criticalv2.ReservedPrefix + "appconfig-version"
	// AnnotationRevision numbers the ConfigMaps of an AppConfig in the order in which they
	// were taken last. It is that of a Deployment's ReplicaSets: a rollback makes an old
	// one the newest.
	AnnotationRevision = criticalv2.ReservedPrefix + "appconfig-revision"
)
