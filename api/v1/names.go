package v1

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
	// from, so that a mended PodTemplate replaces a Pod that fails.
	AnnotationTemplate = ReservedPrefix + "template-hash"
	// AnnotationSelector holds, on a fallback Pod, the selector whose labels it
	// carries, so that they can be taken off when the Service's selector changes.
	AnnotationSelector = ReservedPrefix + "selector"
	// AnnotationReleased holds, on a fallback Pod that has left its Service, when
	// it did (RFC 3339). The Pod goes on answering for a moment, for those proxies
	// that have not followed yet.
	AnnotationReleased = ReservedPrefix + "released-at"
)
