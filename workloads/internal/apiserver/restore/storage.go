// Package restore serves the subresource restore: the snapshot that a client sends is passed on to
// the Pod that waits for it. It is judged while it passes, and nothing of it is kept but a few KiB.
package restore

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/workloads/internal/apiserver/places"
	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
)

// Receiver takes a snapshot. Only if there is no error is it there whole; the error says what a user
// can do, as a Status.
type Receiver func(ctx context.Context, snapshot io.Reader) error

// Target finds who waits for a snapshot.
type Target interface {
	// Receiver is that of an instance. The error says what a user can do, as a Status.
	Receiver(ctx context.Context, instance types.NamespacedName) (Receiver, error)
}

// Storage is the subresource. It keeps no objects.
type Storage struct {
	target     Target
	places     *places.Places
	authorizer authorizer.Authorizer
	kind       func() runtime.Object
}

var (
	_ rest.Connecter       = &Storage{}
	_ rest.StorageMetadata = &Storage{}
)

// New makes the subresource of a kind.
func New(target Target, free *places.Places, authorizer authorizer.Authorizer, kind func() runtime.Object) *Storage {
	return &Storage{target: target, places: free, authorizer: authorizer, kind: kind}
}

// New is an empty object of the kind whose subresource this is.
func (s *Storage) New() runtime.Object { return s.kind() }

// Destroy has nothing to clean up.
func (s *Storage) Destroy() {}

// ConnectMethods are those of HTTP that are served: a WebSocket begins with a GET.
func (s *Storage) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

// NewConnectOptions says that there are none.
func (s *Storage) NewConnectOptions() (options runtime.Object, subpath bool, key string) {
	return nil, false, ""
}

// ProducesMIMETypes is what the OpenAPI document says of the answer, besides the usual ones.
func (s *Storage) ProducesMIMETypes(string) []string { return nil }

// ProducesObject is what the OpenAPI document says of the answer.
func (s *Storage) ProducesObject(string) any { return &metav1.Status{} }

// Connect serves one request, which is authorized already, as what it looks like.
func (s *Storage) Connect(ctx context.Context, name string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	instance := types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}
	if info, found := request.RequestInfoFrom(ctx); !found || info.Verb != "create" {
		if err := s.mayCreate(ctx, instance); err != nil {
			return nil, err
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, err := s.serve(w, r, instance)
		switch {
		case err != nil:
			responder.Error(err)
		case status != nil:
			responder.Object(http.StatusOK, status)
		}
	}), nil
}

// mayCreate asks whether the user of a GET may do what a POST does: who may read must not write.
func (s *Storage) mayCreate(ctx context.Context, instance types.NamespacedName) error {
	user, known := request.UserFrom(ctx)
	if !known {
		return apierrors.NewInternalError(fmt.Errorf("the request has no user"))
	}
	decision, reason, err := s.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: "create", Namespace: instance.Namespace, APIGroup: etcd.Subresources.Group, APIVersion: etcd.Subresources.Version,
		Resource: etcd.Resource.Resource, Subresource: etcd.Restore, Name: instance.Name, ResourceRequest: true,
	})
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("ask whether user %q may restore ETCDInstance %s: %w", user.GetName(), instance, err))
	}
	resource := etcd.Subresources.WithResource(etcd.Resource.Resource + "/" + etcd.Restore).GroupResource()
	return apierrors.NewForbidden(resource, instance.Name, fmt.Errorf("user %q must be allowed to create %s in the namespace %q: %s",
		user.GetName(), resource, instance.Namespace, reason))
}

// serve answers a request: by what it returns, or over the WebSocket that it became.
func (s *Storage) serve(w http.ResponseWriter, r *http.Request, instance types.NamespacedName) (*metav1.Status, error) {
	upgrades := websocket.IsWebSocketUpgrade(r)
	if r.Method != http.MethodPost && !upgrades {
		return nil, apierrors.NewMethodNotSupported(etcd.Resource.GroupResource(), "get without an upgrade to a WebSocket")
	}
	leave, err := s.places.Take(instance)
	if err != nil {
		return nil, err
	}
	defer leave()
	// The context of a request ends when its connection is upgraded.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), wire.Longest)
	defer cancel()
	gone := context.AfterFunc(r.Context(), cancel)
	receiver, err := s.target.Receiver(ctx, instance)
	if err != nil {
		return nil, err
	}
	if !upgrades {
		return pass(ctx, plain(w, r), receiver, instance)
	}
	gone()
	from, err := upgrade(w, r)
	if err != nil {
		return nil, err
	}
	from.end(pass(ctx, from, receiver, instance))
	return nil, nil //nolint:nilnil // It was answered.
}

// pass passes a snapshot on, and is the answer to its client.
func pass(ctx context.Context, from io.Reader, receiver Receiver, instance types.NamespacedName) (*metav1.Status, error) {
	judged := &judge{from: from, checker: snapshot.NewChecker()}
	err := receiver(ctx, judged)
	passed, whole, refused := judged.result()
	audit.AddAuditAnnotations(ctx, auditPrefix+"bytes", strconv.FormatInt(passed, 10), auditPrefix+"received", strconv.FormatBool(err == nil && whole))
	switch {
	case snapshot.IsVerdict(refused):
		return nil, apierrors.NewBadRequest(refused.Error())
	case refused != nil:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the snapshot was not received whole: %v; send it again", refused))
	case err != nil:
		return nil, err
	case !whole:
		return nil, apierrors.NewServiceUnavailable(fmt.Sprintf("the Pod that restores ETCDInstance %s did not take the whole snapshot; send it again", instance))
	}
	return &metav1.Status{
		Status: metav1.StatusSuccess, Code: http.StatusOK,
		Message: fmt.Sprintf("ETCDInstance %s has received a snapshot of %d bytes, and restores it", instance, passed),
	}, nil
}

// auditPrefix begins the annotations of an audit event.
const auditPrefix = "restore.subresources.mycrd.com/"
