package ingress

// Reasons of the events, which are on the Ingress.
const (
	// eventOnFallback: the annotation mycrd.com/fallback says which Services are on their fallback.
	eventOnFallback = "ServicesOnFallback"
	// eventRestored: the annotation is gone, because no Service is on its fallback any more.
	eventRestored = "ServicesRestored"
	// eventConflict: another has set an annotation to another value, and it is left alone.
	eventConflict = "AnnotationConflict"
	// eventDenied: the API server, or an admission webhook, refuses the annotations.
	eventDenied = "AnnotationDenied"
)
