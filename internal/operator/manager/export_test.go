package manager

// Authorized is for tests.
var Authorized = authorized
