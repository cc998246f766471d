package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"

	"github.com/critical-service/operator/internal/etcd"
	"github.com/critical-service/operator/workloads/internal/apiserver/wire"
)

// body is that of a POST. kube-apiserver cuts it after 60 s.
type body struct {
	io.Reader
	control *http.ResponseController
}

func plain(w http.ResponseWriter, r *http.Request) *body {
	b := &body{Reader: r.Body, control: http.NewResponseController(w)}
	// The server gives other requests less time.
	b.control.SetWriteDeadline(time.Now().Add(wire.Longest)) //nolint:errcheck // Then its limit stays.
	return b
}

func (b *body) Read(p []byte) (int, error) {
	if err := b.control.SetReadDeadline(time.Now().Add(wire.Stall)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.Reader.Read(p)
}

// socket is a connection that was upgraded. kube-apiserver does not cut it.
type socket struct {
	to *wire.Socket
	// What is read of the connection comes out of the pipe.
	*io.PipeReader
}

func upgrade(w http.ResponseWriter, r *http.Request) (*socket, error) {
	from, into := io.Pipe()
	to, err := wire.Upgrade(w, r, func(client *websocket.Conn) { listen(client, into) })
	return &socket{to: to, PipeReader: from}, err
}

// listen reads until the client leaves, also what is not wanted any more: a connection that is closed
// while something was not read loses the answer.
func listen(from *websocket.Conn, to *io.PipeWriter) {
	from.SetReadLimit(etcd.Chunk)
	chunk := make([]byte, etcd.Chunk)
	for {
		size, err := next(from, chunk)
		if err != nil {
			to.CloseWithError(fmt.Errorf("the connection to the client was lost: %w", err))
			return
		}
		if size == 0 {
			to.Close()
			// From here on the client waits, and its signs of life are all that it sends.
			from.SetPongHandler(func(string) error { return from.SetReadDeadline(time.Now().Add(wire.Stall)) })
			continue
		}
		to.Write(chunk[:size]) //nolint:errcheck // Then it is not wanted any more.
	}
}

// next reads the next message.
func next(from *websocket.Conn, into []byte) (int, error) {
	if err := from.SetReadDeadline(time.Now().Add(wire.Stall)); err != nil {
		return 0, err
	}
	_, message, err := from.NextReader()
	if err != nil {
		return 0, err
	}
	size, err := io.ReadFull(message, into)
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) { //nolint:errorlint // Readers return it as it is.
		err = nil
	}
	return size, err
}

// end answers.
func (s *socket) end(status *metav1.Status, err error) {
	if err != nil {
		status = responsewriters.ErrorToAPIStatus(err)
	}
	s.PipeReader.Close()
	text, err := json.Marshal(status)
	if err != nil {
		text = []byte("{}")
	}
	s.to.End(text, websocket.CloseNormalClosure, "")
}
