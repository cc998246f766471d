package backup

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/critical-service/operator/internal/etcd"
)

const (
	contentType = "application/octet-stream"

	// longest is how long one snapshot may take, however fast its client reads. While it is open
	// the member cannot reuse pages, and its file grows.
	longest = time.Hour
	// stall is how long a client may take nothing at all.
	stall = 2 * time.Minute
	// pulse is how often a client of a WebSocket gets a sign of life, and how long that may take.
	pulse = 10 * time.Second
)

// sink is where a snapshot goes.
type sink interface {
	send(chunk []byte) error
	// end ends the answer, so that the client knows whether the snapshot is whole.
	end(err error)
}

// response is an answer of HTTP. kube-apiserver cuts it after 60 s.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
}

func plain(w http.ResponseWriter, name string, total int64) *response {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	if total > 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(total, 10))
	}
	r := &response{ResponseWriter: w, control: http.NewResponseController(w)}
	// The server gives other requests less time, for reading and for writing.
	r.control.SetReadDeadline(time.Time{}) //nolint:errcheck // Then its limit stays.
	return r
}

func (r *response) send(chunk []byte) error {
	if err := r.control.SetWriteDeadline(time.Now().Add(stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	_, err := r.Write(chunk)
	return err
}

// end breaks the connection of a snapshot that is not whole: an answer that ended in order would
// say that it is.
func (r *response) end(err error) {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// socket is a connection that was upgraded. kube-apiserver does not cut it.
type socket struct {
	*websocket.Conn
	// over is closed when all was sent, and gone when the client has left.
	over, gone chan struct{}
}

func upgrade(w http.ResponseWriter, r *http.Request, cancel context.CancelFunc) (*socket, error) {
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
	s := &socket{Conn: connection, over: make(chan struct{}), gone: make(chan struct{})}
	go s.listen(cancel)
	go s.beat()
	return s, nil
}

// listen ends the snapshot when the client goes away. It has nothing else to say.
func (s *socket) listen(cancel context.CancelFunc) {
	defer cancel()
	defer close(s.gone)
	for {
		if _, _, err := s.NextReader(); err != nil {
			return
		}
	}
}

// beat sends signs of life, where nothing else is on its way.
func (s *socket) beat() {
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

func (s *socket) send(chunk []byte) error {
	if err := s.SetWriteDeadline(time.Now().Add(stall)); err != nil {
		return err
	}
	return s.WriteMessage(websocket.BinaryMessage, chunk)
}

func (s *socket) end(err error) {
	close(s.over)
	code, reason := websocket.CloseNormalClosure, ""
	if err != nil {
		code, reason = websocket.CloseInternalServerErr, "the snapshot is not whole: the member stopped sending it; take it again"
	}
	// A client that is left before it has read the end may lose what came before it.
	if s.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, reason), time.Now().Add(pulse)) == nil {
		select {
		case <-s.gone:
		case <-time.After(pulse):
		}
	}
	s.Close() //nolint:errcheck // Nothing follows.
}
