package responder

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// lingerTimeout is how long a client that was answered may go on sending.
const lingerTimeout = 5 * time.Second

// mostLines is how many lines the header of a request of HTTP/1.1 may have. Many
// short ones would take some twenty times their size in memory.
const mostLines = 128

var errLines = errors.New("the header of the request has too many lines")

// connection is one connection of a client. It ends in time, whatever deadlines
// are set on it, and it closes so that the client reads its answer.
type connection struct {
	*net.TCPConn
	// port on which it was accepted.
	port int32
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
	// release is called once, when the connection is closed.
	release func()
	closing sync.Once
	closed  error
}

// Read gives what was looked at before, then what comes.
func (c *connection) Read(into []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(into, c.first)
		c.first = c.first[n:]
		return n, c.count(into[:n])
	}
	n, err := c.TCPConn.Read(into)
	if lines := c.count(into[:n]); lines != nil {
		return 0, lines
	}
	return n, err
}

// count counts lines until the header ends.
func (c *connection) count(part []byte) error {
	for i := 0; i < len(part) && c.lines > 0; i++ {
		switch b := part[i]; {
		case b == '\n' && c.isBegin:
			c.lines = 0
		case b == '\n' && c.lines == 1:
			return errLines
		case b == '\n':
			c.lines, c.isBegin = c.lines-1, true
		case b != '\r':
			c.isBegin = false
		}
	}
	return nil
}

// WriteTo would go past what was looked at before, so it does not.
func (c *connection) WriteTo(to io.Writer) (int64, error) {
	return io.Copy(to, struct{ io.Reader }{c})
}

func (c *connection) bounded(t time.Time) time.Time {
	if t.IsZero() || t.After(c.end) {
		return c.end
	}
	return t
}

// SetDeadline sets a deadline within the connection's time.
func (c *connection) SetDeadline(t time.Time) error { return c.TCPConn.SetDeadline(c.bounded(t)) }

// SetReadDeadline sets a deadline within the connection's time.
func (c *connection) SetReadDeadline(t time.Time) error {
	return c.TCPConn.SetReadDeadline(c.bounded(t))
}

// SetWriteDeadline sets a deadline within the connection's time.
func (c *connection) SetWriteDeadline(t time.Time) error {
	return c.TCPConn.SetWriteDeadline(c.bounded(t))
}

// Close says the end to the client, lets it finish what it is sending, and closes.
func (c *connection) Close() error {
	c.closing.Do(func() {
		defer c.release()
		if c.linger > 0 && c.TCPConn.CloseWrite() == nil {
			c.drain()
		}
		c.closed = c.TCPConn.Close()
	})
	return c.closed
}

// drain reads until the client ends, within bounds.
func (c *connection) drain() {
	if c.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
		_, _ = io.Copy(io.Discard, io.LimitReader(c.TCPConn, c.linger)) // Whatever it sends, and however it ends.
	}
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
