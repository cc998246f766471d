package operator

// Names for tests.
var (
	Authorized     = authorized
	ResponderImage = responderImage
)
