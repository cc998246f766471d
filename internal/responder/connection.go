package responder

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/critical-service/operator/internal/connections"
)

// lingerTimeout is how long a client that was answered may send nothing, until the
// connection is closed.
const lingerTimeout = 5 * time.Second

// mostLines is how many lines the header of a request of HTTP/1.1 may have. Many
// short ones would take some twenty times their size in memory.
const mostLines = 128

var errLines = errors.New("the header of the request has too many lines")

// stream is what a connection needs of TCP.
type stream interface {
	net.Conn
	CloseWrite() error
}

// connection is one connection of a client. It ends in time, whatever deadlines
// are set on it, and it closes so that the client reads its answer.
type connection struct {
	stream
	// place is what it holds of the places for connections.
	place place
	// end is when it ends at the latest.
	end time.Time
	// first is what was read of it already and is not yet given to the reader.
	first []byte
	// linger is how many bytes are read of the client when it was answered. A
	// connection that is closed with bytes unread is reset, and the reset may
	// overtake the answer.
	linger int64
	// lines are those that the header of a request may still have; 0 if they are not
	// counted, or the header has ended. isBegin reports whether a line begins.
	lines   int
	isBegin bool
	// backlog is that of a client of HTTP/2; nil of others.
	backlog *connections.Backlog
	// failure is what every further Read returns. A reader may drop an error that
	// comes once: bufio does when it has half a line.
	failure error
	// release is called once, when the connection is closed.
	release func()
	closing sync.Once
	closed  error
}

// Read gives what was looked at before, then what comes.
func (c *connection) Read(into []byte) (n int, err error) {
	if c.failure != nil {
		return 0, c.failure
	}
	if len(c.first) > 0 {
		n = copy(into, c.first)
		c.first = c.first[n:]
	} else {
		n, err = c.stream.Read(into)
	}
	if c.backlog != nil {
		if c.failure = c.backlog.Received(into[:n]); c.failure != nil {
			return 0, c.failure
		}
	}
	// The lines before the limit are read, however they arrive, so that the answer
	// does not depend on that.
	if allowed := c.count(into[:n]); allowed < n {
		c.failure = errLines
		return allowed, errLines
	}
	return n, err
}

// Write waits until the client has room for what is written.
func (c *connection) Write(from []byte) (int, error) {
	if c.backlog == nil {
		return c.stream.Write(from)
	}
	return c.backlog.Write(c.stream.Write, from)
}

// count counts lines until the header ends. It returns how many bytes are within
// the limit.
func (c *connection) count(part []byte) int {
	for i := 0; i < len(part) && c.lines > 0; i++ {
		switch b := part[i]; {
		case b == '\n' && c.isBegin:
			c.lines = 0
		case b == '\n' && c.lines == 1:
			return i
		case b == '\n':
			c.lines, c.isBegin = c.lines-1, true
		case b != '\r':
			c.isBegin = false
		}
	}
	return len(part)
}

func (c *connection) bounded(t time.Time) time.Time {
	if t.IsZero() || t.After(c.end) {
		return c.end
	}
	return t
}

// SetDeadline sets a deadline within the connection's time.
func (c *connection) SetDeadline(t time.Time) error { return c.stream.SetDeadline(c.bounded(t)) }

// SetReadDeadline sets a deadline within the connection's time.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.stream.SetReadDeadline(c.bounded(t))
}

// SetWriteDeadline sets a deadline within the connection's time.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.stream.SetWriteDeadline(c.bounded(t))
}

// Close says the end to the client, lets it finish what it is sending, and closes.
func (c *connection) Close() error {
	c.closing.Do(func() {
		defer c.release()
		if c.backlog != nil {
			c.backlog.End()
		}
		c.place.is(waiting)
		if c.linger > 0 && c.CloseWrite() == nil {
			_, _ = io.CopyN(io.Discard, lingering{c}, c.linger) // Whatever it sends, and however it ends.
		}
		c.closed = c.stream.Close()
	})
	return c.closed
}

// lingering reads what a client sends that was answered: an upload of any framing,
// or further requests. The client has time while it goes on sending.
type lingering struct{ *connection }

// Read reads what comes, while it comes.
func (l lingering) Read(into []byte) (int, error) {
	if err := l.SetReadDeadline(time.Now().Add(lingerTimeout)); err != nil {
		return 0, err
	}
	return l.stream.Read(into)
}

// handover is the listener from which the HTTP server takes connections whose
// first bytes are HTTP.
type handover struct {
	connections chan net.Conn
	done        chan struct{}
	closing     sync.Once
}

func newHandover() *handover {
	return &handover{connections: make(chan net.Conn), done: make(chan struct{})}
}

// give hands a connection over; after the end it closes it.
func (h *handover) give(c net.Conn) {
	select {
	case h.connections <- c:
	case <-h.done:
		_ = c.Close() // The HTTP server has ended.
	}
}

// Accept waits for the next connection.
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.connections:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

// Close ends Accept. The listeners of the ports are closed where they are made.
func (h *handover) Close() error {
	h.closing.Do(func() { close(h.done) })
	return nil
}

// Addr is part of net.Listener. There is no single address.
func (h *handover) Addr() net.Addr { return &net.TCPAddr{} }
