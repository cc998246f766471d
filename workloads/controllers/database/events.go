package database

// Reasons of the events, which are on the Database. Others have the reason that Ready got.
const (
	// eventPodCreated: the Pod was made.
	eventPodCreated = "PodCreated"
	// eventPodDeleted: the Pod was taken away, to be replaced or because of spec.suspend.
	eventPodDeleted = "PodDeleted"
	// eventPasswordGenerated: a Secret with a new password was made.
	eventPasswordGenerated = "PasswordGenerated"
)
