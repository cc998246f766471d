package etcdinstance

// Reasons of the events, which are on the ETCDInstance. Others have the reason that Ready got.
const (
	// eventMemberAdded: a learner was added to the cluster.
	eventMemberAdded = "MemberAdded"
	// eventMemberPromoted: a learner got its vote.
	eventMemberPromoted = "MemberPromoted"
	// eventMemberRemoved: a member was removed from the cluster.
	eventMemberRemoved = "MemberRemoved"
	// eventLeaderMoved: another member was made the leader.
	eventLeaderMoved = "LeaderMoved"
	// eventPodDeleted: a member's Pod was taken away, and another follows.
	eventPodDeleted = "PodDeleted"
	// eventSnapshotStored: a snapshot is in the claim with snapshots.
	eventSnapshotStored = "SnapshotStored"
	// eventSnapshotFailed: a snapshot that was asked for is not stored.
	eventSnapshotFailed = "SnapshotFailed"
	// eventDataRestored: the first member has its data.
	eventDataRestored = "DataRestored"
	// eventCertificateIssued: a certificate was made, or made again.
	eventCertificateIssued = "CertificateIssued"
)
