package v1alpha1

// Conditions of ETCDInstances besides Ready and Protected, which are those of all kinds
// (api/v1). Each lists its reasons per status value.
const (
	// ConditionQuorum is True while enough members answer that the cluster takes writes.
	//
	//	True:  QuorumHeld
	//	False: QuorumPending, QuorumLost
	ConditionQuorum = "Quorum"

	// ConditionRestored is there with spec.restore, and True once the data is restored. Once
	// True it stays so.
	//
	//	True:  Restored
	//	False: RestorePending, WaitingForUpload, RestoreFailed
	ConditionRestored = "Restored"
)

// Reasons of ConditionQuorum.
const (
	// ReasonQuorumHeld: the cluster takes writes.
	ReasonQuorumHeld = "QuorumHeld"
	// ReasonQuorumPending: it has not had a quorum yet, or its members elect a leader; also of Ready.
	ReasonQuorumPending = "QuorumPending"
	// ReasonQuorumLost: it had one. The operator changes no members, and deletes nothing.
	ReasonQuorumLost = "QuorumLost"
)

// Reasons of ConditionRestored.
const (
	// ReasonRestored: the data is restored, and the cluster answers with it.
	ReasonRestored = "Restored"
	// ReasonRestorePending: the snapshot is being fetched or restored.
	ReasonRestorePending = "RestorePending"
	// ReasonWaitingForUpload: the Pod NAME-restore listens for the snapshot, on PortRestore.
	ReasonWaitingForUpload = "WaitingForUpload"
	// ReasonRestoreFailed: it cannot be restored; the message says why, and what to do.
	ReasonRestoreFailed = "RestoreFailed"
)

// Reasons of ConditionReady that only this kind has.
const (
	// ReasonScaling: members come or go, one by one.
	ReasonScaling = "Scaling"
	// ReasonUpgrading: the Pods of the members are replaced, one by one.
	ReasonUpgrading = "Upgrading"
	// ReasonMemberFailing: a member does not answer, or lost its data and is being replaced;
	// the cluster has its quorum.
	ReasonMemberFailing = "MemberFailing"
	// ReasonUpgradeRefused: etcd cannot go from the version that runs to that of spec.image.
	ReasonUpgradeRefused = "UpgradeRefused"
	// ReasonBackingUp: it is deleted, and kept until a snapshot is stored.
	ReasonBackingUp = "BackingUp"
	// ReasonBackupFailed: it is deleted, and kept, because no snapshot can be stored.
	ReasonBackupFailed = "BackupFailed"
	// ReasonAlarm: etcd has raised an alarm, and refuses writes until a person acts.
	ReasonAlarm = "Alarm"
)
