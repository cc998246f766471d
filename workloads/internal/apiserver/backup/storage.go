// Package backup serves the subresource backup: a GET streams a snapshot of an etcd, and nothing
// of it is kept but a few KiB; a POST has one stored in the cluster.
package backup

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
)

// Snapshot is one that a member sends.
type Snapshot struct {
	io.ReadCloser
	// Revision is what it holds at least: all that was acknowledged before it was asked for.
	Revision int64
	// Member is who sends it.
	Member string
	// UID is that of the instance.
	UID types.UID
}

// Source opens snapshots.
type Source interface {
	// Open asks a member for one. The error says what a user can do, as a Status.
	Open(ctx context.Context, instance types.NamespacedName) (*Snapshot, error)
}

// Outcome is how a backup that was begun ended.
type Outcome struct {
	Instance types.NamespacedName
	UID      types.UID
	// User is who asked for it.
	User            string
	Bytes, Revision int64
	// Err is nil if it was sent whole.
	Err error
	// Stored is what became of one that is stored; nil if it was sent.
	Stored *etcd.BackupResult
}

// Report is called once for each.
type Report func(ctx context.Context, outcome *Outcome)

// Storage is the subresource. It keeps no objects.
type Storage struct {
	source Source
	keeper Keeper
	places *places.Places
	report Report
	kind   func() runtime.Object
	// allow asks for a further right; nil asks for none.
	allow func(ctx context.Context, name string) error
}

var (
	_ rest.Connecter       = &Storage{}
	_ rest.StorageMetadata = &Storage{}
)

// New makes the subresource of a kind.
func New(source Source, keeper Keeper, free *places.Places, report Report, kind func() runtime.Object) *Storage {
	return &Storage{source: source, keeper: keeper, places: free, report: report, kind: kind}
}

// In is the same subresource of a kind in another group, with the same limits. There a further right
// is asked for.
func (s *Storage) In(kind func() runtime.Object, allow func(ctx context.Context, name string) error) *Storage {
	other := *s
	other.kind, other.allow = kind, allow
	return &other
}

// New is an empty object of the kind whose subresource this is.
func (s *Storage) New() runtime.Object { return s.kind() }

// Destroy has nothing to clean up.
func (s *Storage) Destroy() {}

// ConnectMethods are those of HTTP that are served.
func (s *Storage) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions says that there are none.
func (s *Storage) NewConnectOptions() (options runtime.Object, subpath bool, key string) {
	return nil, false, ""
}

// ProducesMIMETypes is what the OpenAPI document says of the answer to a GET.
func (s *Storage) ProducesMIMETypes(string) []string { return []string{contentType} }

// ProducesObject is what the OpenAPI document says of the answer: that to a GET is no object.
func (s *Storage) ProducesObject(method string) any {
	if method == http.MethodPost {
		return &etcd.BackupResult{}
	}
	return ""
}

// Connect serves one request, which is authorized already.
func (s *Storage) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	if s.allow != nil {
		if err := s.allow(ctx, name); err != nil {
			return nil, err
		}
	}
	instance := types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var err error
		if r.Method == http.MethodPost {
			err = s.store(w, r, instance, responder)
		} else {
			err = s.send(w, r, instance)
		}
		if err != nil {
			responder.Error(err)
		}
	}), nil
}

// send answers a GET. An error is returned only where nothing was answered yet.
func (s *Storage) send(w http.ResponseWriter, r *http.Request, instance types.NamespacedName) error {
	leave, err := s.places.Take(instance)
	if err != nil {
		return err
	}
	defer leave()
	// The context of a request ends when its connection is upgraded: then the client ends this one.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), wire.Longest)
	defer cancel()
	upgraded := context.AfterFunc(r.Context(), cancel)
	opened, err := s.source.Open(ctx, instance)
	if err != nil {
		return err
	}
	defer opened.Close()
	first, total, err := begin(opened)
	if err != nil {
		return apierrors.NewServiceUnavailable(fmt.Sprintf("member %s of ETCDInstance %s began no snapshot: %v; retry", opened.Member, instance, err))
	}
	w.Header().Set(etcd.RevisionHeader, strconv.FormatInt(opened.Revision, 10))
	if websocket.IsWebSocketUpgrade(r) {
		upgraded()
	}
	to, err := answer(w, r, cancel, fmt.Sprintf("%s-%s-%d.db", instance.Namespace, instance.Name, opened.Revision), total)
	if err != nil {
		return err
	}
	sent, err := stream(to, first, opened, total)
	audit.AddAuditAnnotations(ctx, auditPrefix+"bytes", strconv.FormatInt(sent, 10), auditPrefix+"revision", strconv.FormatInt(opened.Revision, 10),
		auditPrefix+"whole", strconv.FormatBool(err == nil))
	s.report(ctx, &Outcome{Instance: instance, UID: opened.UID, User: userOf(ctx), Bytes: sent, Revision: opened.Revision, Err: err})
	to.end(err)
	return nil
}

// userOf is who sent a request.
func userOf(ctx context.Context) string {
	if user, known := request.UserFrom(ctx); known {
		return user.GetName()
	}
	return ""
}

// auditPrefix begins the annotations of an audit event.
const auditPrefix = "backup.subresources.mycrd.com/"

// begin reads what says how long the snapshot is; the length is 0 where it does not say it.
func begin(from io.Reader) (first []byte, total int64, err error) {
	first = make([]byte, etcd.Chunk)
	read, err := io.ReadAtLeast(from, first, snapshot.HeaderSize)
	if err != nil {
		return nil, 0, err
	}
	checker := snapshot.NewChecker()
	checker.Write(first[:read]) //nolint:errcheck // It never fails.
	return first[:read], checker.Total(), nil
}

// stream sends a snapshot in chunks, and reports how many bytes were sent.
func stream(to sink, first []byte, from io.Reader, total int64) (int64, error) {
	sent := int64(0)
	for chunk, buffer := first, first[:cap(first)]; ; {
		if err := to.send(chunk); err != nil {
			return sent, fmt.Errorf("send to the client: %w", err)
		}
		sent += int64(len(chunk))
		read, err := from.Read(buffer)
		chunk = buffer[:read]
		switch {
		case err == io.EOF && read == 0 && total > 0 && sent != total:
			return sent, fmt.Errorf("the member sent %d of %d bytes", sent, total)
		case err == io.EOF && read == 0:
			return sent, nil
		case err != nil && err != io.EOF:
			return sent, fmt.Errorf("receive from the member: %w", err)
		}
	}
}

// answer begins the answer in the way that the client asked for.
func answer(w http.ResponseWriter, r *http.Request, cancel context.CancelFunc, name string, total int64) (sink, error) {
	if websocket.IsWebSocketUpgrade(r) {
		return upgrade(w, r, cancel)
	}
	return plain(w, name, total), nil
}
