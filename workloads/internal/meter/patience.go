package meter

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// patient is a response whose client has to take what is written.
type patient struct {
	http.ResponseWriter
	control  *http.ResponseController
	progress time.Duration
	// from is what still reads the body of the request.
	from *patientReader
}

// Unwrap lets upgrades through.
func (p *patient) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// Write implements io.Writer. The deadline is that of this write alone: what waits for the
// application may wait.
func (p *patient) Write(data []byte) (int, error) {
	defer p.bounded()()
	return p.ResponseWriter.Write(data)
}

// FlushError sends what is in the buffers, as Write does.
func (p *patient) FlushError() error {
	defer p.bounded()()
	return p.control.Flush()
}

// WriteHeader writes the header of an answer that goes before another one, such as 103.
func (p *patient) WriteHeader(status int) {
	defer p.bounded()()
	p.ResponseWriter.WriteHeader(status)
}

// bounded bounds a write, before which HTTP/1.1 reads what the application has not read of the body.
func (p *patient) bounded() (written func()) {
	p.from.await()
	_ = p.control.SetWriteDeadline(time.Now().Add(p.progress))
	return func() { _ = p.control.SetWriteDeadline(time.Time{}) }
}

// body is that of a request whose client has to send it.
type body struct {
	*bufio.Reader
	io.Closer
}

// firstRead is as much of a body as is read before there is a place.
const firstRead = 512

// awaited waits for the first byte of a body, if there is one, and bounds the wait for the others until the request has ended.
func (m *Meter) awaited(control *http.ResponseController, r *http.Request) (io.ReadCloser, *patientReader, error) {
	if r.Body == nil || r.Body == http.NoBody || isStream(r) {
		return r.Body, nil, nil
	}
	from := &patientReader{Reader: r.Body, control: control, isHTTP2: r.ProtoMajor >= 2, next: bodyTimeout, progress: m.progress}
	waiting := &body{Reader: bufio.NewReaderSize(from, firstRead), Closer: r.Body}
	if _, err := waiting.Peek(1); err != nil && !errors.Is(err, io.EOF) {
		return nil, from, err
	}
	return waiting, from, nil
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
	isHTTP2 bool
	// next is how long the next read waits, and progress each one after it.
	next, progress time.Duration

	mu sync.Mutex
	// hasEnded is whether all of the body has come, or the request has ended.
	hasEnded bool
}

// Read implements io.Reader. The deadline is that of this read alone: the application may read when it likes.
func (p *patientReader) Read(data []byte) (int, error) {
	p.deadline(time.Now().Add(p.next), false)
	p.next = p.progress
	read, err := p.Reader.Read(data)
	// It would end a body of HTTP/2 that nothing reads, and in HTTP/1.1 the wait for the answer. In the midst of a body of HTTP/1.1 it
	// stays: the server may discard the rest by itself.
	if hasAll := errors.Is(err, io.EOF); hasAll || p.isHTTP2 {
		p.deadline(time.Time{}, hasAll)
	}
	return read, err
}

// deadline sets that of what is read next, if anything is.
func (p *patientReader) deadline(at time.Time, isLast bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasEnded {
		_ = p.control.SetReadDeadline(at)
	}
	p.hasEnded = p.hasEnded || isLast
}

// await bounds how long the server itself reads what is left of a body.
func (p *patientReader) await() {
	if p != nil && !p.isHTTP2 {
		p.deadline(time.Now().Add(p.progress), false)
	}
}

// end is for when the request has ended: a transport may still be reading, and a response that has ended must not be touched.
func (p *patientReader) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hasEnded = true
}
