package criticalservice

// Reasons of the events that tell what was done. An event is sent only after the
// write it tells of succeeded. The events that tell what hinders a fallback have
// the reasons of the states.
const (
	// eventFallbackCreated: the Service is down, and a fallback Pod was made.
	eventFallbackCreated = "FallbackCreated"
	// eventFallbackPromoted: the Service is down, and its standby endpoints were made
	// ready ones for consumers that know no others.
	eventFallbackPromoted = "FallbackPromoted"
	// eventFallbackDemoted: the Service has recovered, and its standby is one again.
	eventFallbackDemoted = "FallbackDemoted"
	// eventFallbackRebound: labels or owner of a fallback Pod were corrected.
	eventFallbackRebound = "FallbackRebound"
	// eventFallbackReleased: the Service has recovered, and the fallback Pod left it.
	eventFallbackReleased = "FallbackReleased"
	// eventFallbackRemoved: a fallback Pod was deleted; the note says why.
	eventFallbackRemoved = "FallbackRemoved"
)
