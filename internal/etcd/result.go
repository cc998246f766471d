package etcd

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// BackupResultKind is the kind of a BackupResult, in every group in which backups are served.
const BackupResultKind = "BackupResult"

// States of a stored backup.
const (
	BackupRunning = "running"
	BackupStored  = "stored"
	BackupFailed  = "failed"
)

// BackupResult answers a POST to the subresource Backup.
type BackupResult struct {
	metav1.TypeMeta `json:",inline"`
	// Request is by what the ETCDInstance's status.backup names this backup.
	Request string `json:"request"`
	// State is stored, or running where it takes longer than an answer may.
	State string `json:"state"`
	// Claim is the PersistentVolumeClaim in which the snapshot is, as File.
	Claim string `json:"claim"`
	File  string `json:"file,omitempty"`
	// Revision is the last that it holds, and SizeBytes the size of the file.
	Revision  int64 `json:"revision,omitempty"`
	SizeBytes int64 `json:"sizeBytes,omitempty"`
}

// DeepCopyObject copies the object.
func (r *BackupResult) DeepCopyObject() runtime.Object {
	copied := *r
	return &copied
}
