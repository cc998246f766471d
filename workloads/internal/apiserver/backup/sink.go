package backup

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/gorilla/websocket"

	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
)

const contentType = "application/octet-stream"

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
	if err := r.control.SetWriteDeadline(time.Now().Add(wire.Stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
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
type socket struct{ *wire.Socket }

func upgrade(w http.ResponseWriter, r *http.Request, cancel context.CancelFunc) (*socket, error) {
	to, err := wire.Upgrade(w, r, func(from *websocket.Conn) {
		defer cancel() // The snapshot ends when the client goes away. It has nothing else to say.
		for {
			if _, _, err := from.NextReader(); err != nil {
				return
			}
		}
	})
	return &socket{to}, err
}

func (s *socket) send(chunk []byte) error {
	if err := s.SetWriteDeadline(time.Now().Add(wire.Stall)); err != nil {
		return err
	}
	return s.WriteMessage(websocket.BinaryMessage, chunk)
}

func (s *socket) end(err error) {
	code, reason := websocket.CloseNormalClosure, ""
	if err != nil {
		code, reason = websocket.CloseInternalServerErr, "the snapshot is not whole: the member stopped sending it; take it again"
	}
	s.End(nil, code, reason)
}
