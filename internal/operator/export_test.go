package operator

// ResponderImage is for tests.
var ResponderImage = responderImage
