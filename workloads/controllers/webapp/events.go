package webapp

// Reasons of the events, which are on the WebApp. Others have the reason that a condition got.
const (
	// eventCreated: an object of the WebApp was made.
	eventCreated = "ObjectCreated"
	// eventScaled: the traffic needs another number of Pods.
	eventScaled = "Scaled"
)
