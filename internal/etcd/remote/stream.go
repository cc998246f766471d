package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clientwebsocket "k8s.io/client-go/transport/websocket"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/internal/etcd/snapshot"
)

const (
	// silence is how long the server may send nothing, not even a sign of life, which it does
	// several times in that time.
	silence = time.Minute
	// patience is how long the server may take nothing.
	patience = 2 * time.Minute
)

// Taken is a snapshot that was received.
type Taken struct {
	// Revision is the one that it holds at least, and Bytes how long it is.
	Revision, Bytes int64
}

// Passed is called as a snapshot passes, with how much has passed and how much it is; 0 is unknown.
type Passed func(passed, total int64)

// Backup writes a snapshot of an instance. Only if there is no error is it whole, and has been
// verified to be.
func (c *Client) Backup(ctx context.Context, name types.NamespacedName, to io.Writer, passed Passed) (*Taken, error) {
	connection, answer, err := c.open(ctx, name, etcd.Backup) //nolint:bodyclose // It is closed there.
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	checker := snapshot.NewChecker()
	failed := receive(connection, func(chunk []byte) error {
		checker.Write(chunk) //nolint:errcheck // It never fails.
		passed(checker.Size(), checker.Total())
		_, err := to.Write(chunk)
		return err
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	taken := &Taken{Bytes: checker.Size()}
	taken.Revision, _ = strconv.ParseInt(answer.Header.Get(etcd.RevisionHeader), 10, 64)
	return taken, errors.Join(failed, checker.Verdict())
}

// receive takes the messages of a connection until the server says that it was all.
func receive(connection *websocket.Conn, take func(chunk []byte) error) error {
	extend := func() error { return connection.SetReadDeadline(time.Now().Add(silence)) }
	answerPing := connection.PingHandler()
	connection.SetPingHandler(func(data string) error { return errors.Join(extend(), answerPing(data)) })
	connection.SetReadLimit(etcd.Chunk)
	for {
		if err := extend(); err != nil {
			return err
		}
		_, chunk, err := connection.ReadMessage()
		switch {
		case websocket.IsCloseError(err, websocket.CloseNormalClosure):
			return nil
		case err != nil:
			return broken(err)
		}
		if err := take(chunk); err != nil {
			return fmt.Errorf("write the snapshot: %w", err)
		}
	}
}

// broken is why a connection ended before its end.
func broken(err error) error {
	if closed := (*websocket.CloseError)(nil); errors.As(err, &closed) && closed.Text != "" {
		return fmt.Errorf("the server ended the snapshot: %s", closed.Text)
	}
	return fmt.Errorf("the connection to the server was lost: %w", err)
}

// open upgrades a request for a subresource.
func (c *Client) open(ctx context.Context, name types.NamespacedName, subresource string) (*websocket.Conn, *http.Response, error) {
	target, err := c.url(name, subresource)
	if err != nil {
		return nil, nil, err
	}
	transport, holder, err := clientwebsocket.RoundTripperFor(c.config)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target.String(), http.NoBody)
	if err != nil {
		return nil, nil, err
	}
	request.Header.Set("Sec-WebSocket-Protocol", etcd.Protocol)
	answer, err := transport.RoundTrip(request)
	if err != nil {
		return nil, nil, refusal(err)
	}
	return holder.Connection(), answer, answer.Body.Close()
}

// refusal is why a request was not upgraded: what our server says, or that it does not answer.
func refusal(err error) error {
	refused := (*httpstream.UpgradeFailureError)(nil)
	if !errors.As(err, &refused) {
		return err
	}
	if status := apierrors.APIStatus(nil); errors.As(refused.Cause, &status) {
		return refused.Cause
	}
	return notServed(refused.Cause)
}

func notServed(err error) error {
	return fmt.Errorf("the cluster does not serve backups: an administrator turns them on by an APIService, which `kubectl get apiservice %s.%s` shows (%w)",
		etcd.Subresources.Version, etcd.Subresources.Group, err)
}

// url is where a subresource is.
func (c *Client) url(name types.NamespacedName, subresource string) (*url.URL, error) {
	base, _, err := rest.DefaultServerUrlFor(c.config)
	if err != nil {
		return nil, fmt.Errorf("find the API server: %w", err)
	}
	return base.JoinPath(etcd.Path(etcd.Subresources, name.Namespace, name.Name, subresource)), nil
}
