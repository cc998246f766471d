package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/critical-service/operator/internal/etcd"
)

// Restore sends a snapshot to an instance that waits for it. Only if there is no error has it been
// received whole.
func (c *Client) Restore(ctx context.Context, name types.NamespacedName, from io.Reader, total int64, passed Passed) error {
	connection, _, err := c.open(ctx, name, etcd.Restore) //nolint:bodyclose // It is closed there.
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { connection.Close() })()
	answered := make(chan error, 1)
	go func() { answered <- answer(connection) }()
	failed := send(connection, from, total, passed)
	if failed != nil && !errors.Is(failed, errConnection) {
		return failed
	}
	// A server that refuses says why, which explains why no more could be sent.
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-answered:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
}

// errConnection is of what cannot be sent.
var errConnection = errors.New("the connection to the server was lost")

// send sends a snapshot in messages, the last of which is empty.
func send(connection *websocket.Conn, from io.Reader, total int64, passed Passed) error {
	chunk, sent := make([]byte, etcd.Chunk), int64(0)
	for {
		read, err := io.ReadFull(from, chunk)
		if err != nil && err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("read the snapshot: %w", err)
		}
		if err := errors.Join(connection.SetWriteDeadline(time.Now().Add(patience)), connection.WriteMessage(websocket.BinaryMessage, chunk[:read])); err != nil {
			return fmt.Errorf("%w: %w", errConnection, err)
		}
		sent += int64(read)
		passed(sent, total)
		if read == 0 {
			return nil
		}
	}
}

// answer is what the server says at the end, or earlier.
func answer(connection *websocket.Conn) error {
	extend := func() error { return connection.SetReadDeadline(time.Now().Add(silence)) }
	answerPing := connection.PingHandler()
	connection.SetPingHandler(func(data string) error { return errors.Join(extend(), answerPing(data)) })
	if err := extend(); err != nil {
		return err
	}
	_, text, err := connection.ReadMessage()
	if err != nil {
		return broken(err)
	}
	status := metav1.Status{}
	if err := json.Unmarshal(text, &status); err != nil {
		return fmt.Errorf("read the answer of the server: %w", err)
	}
	if status.Status != metav1.StatusSuccess {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return nil
}

// Await reads an instance until its condition Restored is as wanted.
func (c *Client) Await(ctx context.Context, name types.NamespacedName, wanted func(restored metav1.Condition) (bool, error)) error {
	return wait.PollUntilContextCancel(ctx, pollEvery, true, func(ctx context.Context) (bool, error) {
		instance, err := c.Get(ctx, name)
		if err != nil {
			return false, err
		}
		return wanted(Restored(instance))
	})
}

// Restored is the condition of that name of an instance; empty where there is none.
func Restored(instance *unstructured.Unstructured) metav1.Condition {
	conditions, _, _ := unstructured.NestedSlice(instance.Object, "status", "conditions")
	for _, condition := range conditions {
		if fields, isMap := condition.(map[string]any); isMap && fields["type"] == etcd.ConditionRestored {
			text := func(name string) string { value, _ := fields[name].(string); return value }
			return metav1.Condition{Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")}
		}
	}
	return metav1.Condition{}
}
