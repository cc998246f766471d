package v1alpha1

import (
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
)

// Names that the operator reads or writes on objects of other kinds.
const (
	// LabelETCDInstance names, on all objects of an ETCDInstance, the ETCDInstance. Its Services
	// select by it.
	LabelETCDInstance = workloadsv1.Prefix + "etcdinstance"

	// AnnotationBackup, on an ETCDInstance, asks for one stored snapshot. Its value is any text of
	// at most MaxBackupRequest bytes; another value asks for another snapshot. status.backup answers.
	AnnotationBackup = workloadsv1.Prefix + "backup"
	// MaxBackupRequest bounds the value of AnnotationBackup. A longer one asks for nothing.
	MaxBackupRequest = 63

	// PortRestore is where the Pod NAME-restore receives a snapshot, with spec.restore.upload.
	PortRestore int32 = 2382

	// Finalizer keeps an ETCDInstance with spec.backup.beforeDeletion until its snapshot is
	// stored.
	Finalizer = workloadsv1.Prefix + "backup-before-deletion"

	// PortClient is where each member listens for clients.
	PortClient int32 = 2379
	// PortPeer is where each member listens for the others.
	PortPeer int32 = 2380

	// MaxReplicas is the greatest number of members.
	MaxReplicas = 9

	// KeyCA is the key of the authority's certificate, in the Secrets with certificates.
	KeyCA = "ca.crt"
	// KeyCertificate is the key of the certificate itself.
	KeyCertificate = "tls.crt"
	// KeyPrivateKey is the key of its private key.
	KeyPrivateKey = "tls.key"
)
