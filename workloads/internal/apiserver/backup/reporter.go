package backup

import (
	"context"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/critical-service/operator/internal/etcd"
)

// EventTaken is the reason of the event by which the team of an ETCDInstance sees who has read its
// data. It is on the ETCDInstance.
const EventTaken = "BackupTaken"

// Reporter logs backups, and sends an event of each.
type Reporter struct {
	Log logr.Logger
	// Recorder bounds how many events there are.
	Recorder events.EventRecorder
}

// Report is a Report. A part of a snapshot has data as well.
func (r *Reporter) Report(_ context.Context, o *Outcome) {
	what := "a snapshot"
	switch {
	case o.Err != nil:
		what = "a part of a snapshot"
	case o.Stored != nil && o.Stored.State == etcd.BackupRunning:
		what = fmt.Sprintf("a snapshot that is being stored in the claim %s", o.Stored.Claim)
	case o.Stored != nil:
		what = fmt.Sprintf("the snapshot %s in the claim %s", o.Stored.File, o.Stored.Claim)
	}
	log := r.Log.WithValues("instance", o.Instance, "user", o.User, "what", what, "bytes", o.Bytes, "revision", o.Revision)
	if o.Err != nil {
		log = log.WithValues("reason", o.Err.Error())
	}
	log.Info("took a backup")
	about := &corev1.ObjectReference{
		APIVersion: etcd.Kind.GroupVersion().String(), Kind: etcd.Kind.Kind,
		Namespace: o.Instance.Namespace, Name: o.Instance.Name, UID: o.UID,
	}
	r.Recorder.Eventf(about, nil, corev1.EventTypeNormal, EventTaken, "Backup",
		"User %q took %s: %d bytes, revision %d.", o.User, what, o.Bytes, o.Revision)
}
