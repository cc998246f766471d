package protect

// Reasons of the events that report what was done. An event is sent only after the
// write it reports succeeded. The events that report what blocks a fallback, or
// whether it answers, have the reasons of the states and conditions. The table of
// all events is docs/events.md, to which the tests hold every event that is sent.
const (
	// eventFallbackPromoted: the Service is down, and its standby endpoints were made
	// ready ones for consumers that know no others.
	eventFallbackPromoted = "FallbackPromoted"
	// eventFallbackDemoted: the Service has recovered, and its standby is one again.
	eventFallbackDemoted = "FallbackDemoted"
)
