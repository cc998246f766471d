package provision

// Reasons of the events that report what was done. An event is sent only after the
// write it reports succeeded. The events that report what blocks a fallback, or
// whether it answers, have the reasons of the states and conditions. The table of
// all events is docs/events.md, to which the tests hold every event that is sent.
const (
	// eventFallbackCreated: a fallback Pod was made, because the Service is down, or
	// to stand by.
	eventFallbackCreated = "FallbackCreated"
	// eventFallbackRebound: labels or owner of a fallback Pod were corrected.
	eventFallbackRebound = "FallbackRebound"
	// eventFallbackReleased: the Service has recovered, and the fallback Pod left it.
	eventFallbackReleased = "FallbackReleased"
	// eventFallbackRemoved: a fallback Pod was deleted; the note says why.
	eventFallbackRemoved = "FallbackRemoved"
	// eventProtectionEnded: the fallback of a Service that is down was withdrawn, because
	// no CriticalService asks for it any more, or its owner does not want it.
	eventProtectionEnded = "ProtectionEnded"
)
