package v2

// Names that the operator reads or writes on objects of other kinds.
const (
	// AnnotationCriticalService is set by the owner of a Service to opt out.
	AnnotationCriticalService = "mycrd.com/critical-service"
	// OptOut is the value of AnnotationCriticalService that opts a Service out.
	OptOut = "ignore"

	// AnnotationOwned marks every fallback Pod, with the value Owned.
	AnnotationOwned = "service-watcher"
	// Owned is the value of AnnotationOwned.
	Owned = "owned"

	// ReservedPrefix begins every label key that only the operator sets.
	ReservedPrefix = "mycrd.com/"
	// LabelFallbackFor names, on a fallback Pod, the Service it stands in for.
	// The operator watches only Pods that carry it.
	LabelFallbackFor = ReservedPrefix + "fallback-for"
	// AnnotationTemplate holds, on a fallback Pod, a hash of what it was made
	// from, so that a fixed PodTemplate replaces a Pod that fails.
	AnnotationTemplate = ReservedPrefix + "template-hash"
	// AnnotationSelector holds, on a fallback Pod, the selector whose labels it
	// carries, so that they can be taken off when the Service's selector changes.
	AnnotationSelector = ReservedPrefix + "selector"
	// AnnotationReleased holds, on a fallback Pod that has left its Service, when
	// it did (RFC 3339). The Pod goes on answering for a moment, for those proxies
	// that have not followed yet.
	AnnotationReleased = ReservedPrefix + "released-at"

	// ManagedBy is the value of the label endpointslice.kubernetes.io/managed-by
	// on the standby slices. Kubernetes leaves slices of other managers alone.
	ManagedBy = "critical-service-operator.mycrd.com"
	// LabelFallbackKind is, on a standby slice, the member of spec.fallback that
	// it publishes: page, podTemplate or service.
	LabelFallbackKind = ReservedPrefix + "fallback"
	// LabelStandbyPod is, on a standby slice that publishes one Pod, the UID of that
	// Pod. The Pod owns the slice, so that its address goes when it goes.
	LabelStandbyPod = ReservedPrefix + "standby-pod"
	// AnnotationPage holds, on the standby slice of a page, the PageFallback as
	// JSON. The responder's controller reads it.
	AnnotationPage = ReservedPrefix + "page"
	// AnnotationBackup names, on the standby slice of a service fallback, the backup
	// Service whose endpoints it publishes.
	AnnotationBackup = ReservedPrefix + "backup"
	// AnnotationMaintenance holds, on the standby slice of a page, the maintenance
	// that is announced for the Service, as JSON. The responder's controller reads it.
	AnnotationMaintenance = ReservedPrefix + "maintenance"
	// AnnotationOutageSince holds, on a standby slice, since when the Service has
	// had no ready endpoint of its own (RFC 3339), while activationDelay runs.
	AnnotationOutageSince = ReservedPrefix + "outage-since"
	// AnnotationRecoveredSince holds, on a standby slice, since when the Service has had a ready endpoint again (RFC 3339),
	// while deactivationDelay runs and until all are demoted.
	AnnotationRecoveredSince = ReservedPrefix + "recovered-since"

	// LabelResponder marks what belongs to the responder of a namespace. Its
	// value is one of the three that follow.
	LabelResponder = ReservedPrefix + "responder"
	// ResponderServer marks the responder's Deployment, Pods and
	// PodDisruptionBudget.
	ResponderServer = "server"
	// ResponderListeners marks the ConfigMap with the table of listeners.
	ResponderListeners = "listeners"
	// ResponderContent is set by a team on a ConfigMap with content of a page: by
	// it they agree that the ConfigMap is published.
	ResponderContent = "content"
	// AnnotationListeners holds, on a responder Pod, the ports on which it
	// listens once it is ready, as "first-last".
	AnnotationListeners = ReservedPrefix + "listeners"
	// AnnotationContentVersion holds, on a responder Pod, a hash of the table and
	// the content. A change of it makes the kubelet refresh what is mounted at
	// once, and not within its usual minute.
	AnnotationContentVersion = ReservedPrefix + "content-version"
	// ConditionPublished is the readiness gate of responder Pods: true once the Pod is
	// published wherever another Pod of the responder is. It is never taken back.
	ConditionPublished = ReservedPrefix + "published"
	// ResponderName is the name of the responder's Deployment,
	// PodDisruptionBudget and ConfigMap in every namespace that has one.
	ResponderName = "critical-service-responder"
)

// The members of spec.fallback, as LabelFallbackKind has them.
const (
	FallbackKindPage        = "page"
	FallbackKindPodTemplate = "podTemplate"
	FallbackKindService     = "service"
)
