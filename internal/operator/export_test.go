package operator

// ResponderImage is responderImage, for tests.
var ResponderImage = responderImage
