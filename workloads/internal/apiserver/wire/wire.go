// Package wire is how snapshots pass between this server and its clients, in either direction:
// how long that may take, and the WebSocket that kube-apiserver does not cut.
package wire

import (
	"errors"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/critical-service/operator/internal/etcd"
)

const (
	// Longest is how long one snapshot may take, however fast its client is. While a member sends
	// one it cannot reuse pages, and its file grows.
	Longest = time.Hour
	// Stall is how long a client may take or send nothing at all.
	Stall = 2 * time.Minute
	// pulse is how often a client gets a sign of life, and how long that may take.
	pulse = 10 * time.Second
)

// Socket is a connection that was upgraded. The client gets signs of life until it is ended.
type Socket struct {
	*websocket.Conn
	// over is closed when all was sent, and gone when the client has left.
	over, gone chan struct{}
}

// Upgrade answers a request that wants to be a WebSocket. The function listens to the client, and
// returns when that has left.
func Upgrade(w http.ResponseWriter, r *http.Request, listen func(*websocket.Conn)) (*Socket, error) {
	upgrader := websocket.Upgrader{
		Subprotocols: []string{etcd.Protocol},
		// A browser does not know the credentials that kube-apiserver asks for.
		CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "" },
		Error:       func(http.ResponseWriter, *http.Request, int, error) {},
	}
	connection, err := upgrader.Upgrade(w, r, w.Header())
	if err != nil {
		return nil, apierrors.NewBadRequest("the connection cannot be upgraded to a WebSocket: " + err.Error())
	}
	s := &Socket{Conn: connection, over: make(chan struct{}), gone: make(chan struct{})}
	go func() {
		defer close(s.gone)
		listen(connection)
	}()
	go s.beat()
	return s, nil
}

// beat sends signs of life, where nothing else is on its way.
func (s *Socket) beat() {
	ticker := time.NewTicker(pulse)
	defer ticker.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-ticker.C:
			s.WriteControl(websocket.PingMessage, nil, time.Now().Add(pulse)) //nolint:errcheck // What is sent next fails as well.
		}
	}
}

// End sends a last message of text, if there is one, and closes the connection with a reason. A
// client that is left before it has read the end may lose what came before it.
func (s *Socket) End(text []byte, code int, reason string) {
	defer s.Close()
	close(s.over)
	deadline := time.Now().Add(pulse)
	if text != nil && errors.Join(s.SetWriteDeadline(deadline), s.WriteMessage(websocket.TextMessage, text)) != nil {
		return
	}
	if s.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), deadline) != nil {
		return
	}
	select {
	case <-s.gone:
	case <-time.After(pulse):
	}
}
