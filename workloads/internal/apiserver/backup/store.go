package backup

import (
	"context"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/critical-service/operator/internal/etcd"
)

// Keeper has snapshots stored in the cluster.
type Keeper interface {
	// Store asks for one, and waits until it is stored, or for so long that the client still gets an
	// answer. The error says what a user can do, as a Status.
	Store(ctx context.Context, instance types.NamespacedName) (*Stored, error)
}

// Stored is what a Keeper answers.
type Stored struct {
	etcd.BackupResult
	// UID is that of the instance.
	UID types.UID
}

// store answers a POST. The body says nothing, and is not read.
func (s *Storage) store(w http.ResponseWriter, r *http.Request, instance types.NamespacedName, responder rest.Responder) error {
	leave, err := s.places.Take(instance)
	if err != nil {
		return err
	}
	defer leave()
	// The server gives other requests less time, for reading and for writing.
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Time{})  //nolint:errcheck // Then its limit stays.
	control.SetWriteDeadline(time.Time{}) //nolint:errcheck // As above.
	stored, err := s.keeper.Store(r.Context(), instance)
	if err != nil {
		return err
	}
	audit.AddAuditAnnotations(r.Context(), auditPrefix+"request", stored.Request, auditPrefix+"state", stored.State)
	code := http.StatusCreated
	if stored.State == etcd.BackupRunning {
		code = http.StatusAccepted
	}
	s.report(r.Context(), &Outcome{
		Instance: instance, UID: stored.UID, User: userOf(r.Context()), Bytes: stored.SizeBytes, Revision: stored.Revision, Stored: &stored.BackupResult,
	})
	responder.Object(code, &stored.BackupResult)
	return nil
}
