package operator

// ResponderImage and OptionsOf are for tests.
var (
	ResponderImage = responderImage
	OptionsOf      = optionsOf
)
