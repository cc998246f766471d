package meter

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// patient is a response whose client has to take what is written.
type patient struct {
	http.ResponseWriter
	control *http.ResponseController
}

// Unwrap lets upgrades through.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer. The deadline is that of this write alone: what waits for the
// application may wait.
func (p *patient) Write(data []byte) (int, error) {
	_ = p.control.SetWriteDeadline(time.Now().Add(progressTimeout))
	written, err := p.ResponseWriter.Write(data)
	if err == nil {
		_ = p.control.SetWriteDeadline(time.Time{})
	}
	return written, err
}

// FlushError sends what is in the buffers, as Write does.
func (p *patient) FlushError() error {
	_ = p.control.SetWriteDeadline(time.Now().Add(progressTimeout))
	err := p.control.Flush()
	if err == nil {
		_ = p.control.SetWriteDeadline(time.Time{})
	}
	return err
}

// body is that of a request whose client has to send it.
type body struct {
	*bufio.Reader
	io.Closer
}

// firstRead is as much of a body as is read before there is a place.
const firstRead = 512

// awaited waits for the first byte of a body, if there is one, and bounds the wait for the others.
func awaited(control *http.ResponseController, r *http.Request) (io.ReadCloser, error) {
	if r.Body == nil || r.Body == http.NoBody || isStream(r) {
		return r.Body, nil
	}
	waiting := &body{Closer: r.Body}
	waiting.Reader = bufio.NewReaderSize(&patientReader{r.Body, control, bodyTimeout}, firstRead)
	if _, err := waiting.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return waiting, nil
}

// isStream reports whether client and application talk at the same time, as in gRPC: the client may
// wait for the application before it sends anything, and between any two messages.
func isStream(r *http.Request) bool {
	return r.ProtoMajor >= 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// patientReader reads what a client has to send.
type patientReader struct {
	io.Reader
	control *http.ResponseController
	// patience is how long the next read waits.
	patience time.Duration
}

// Read implements io.Reader. The deadline is that of this read alone: the application may read when it likes.
func (p *patientReader) Read(data []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(p.patience))
	read, err := p.Reader.Read(data)
	_ = p.control.SetReadDeadline(time.Time{})
	p.patience = progressTimeout
	return read, err
}
