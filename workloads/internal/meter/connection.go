package meter

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"sync/atomic"

	"github.com/critical-service/operator/internal/connections"
)

// preface is what a client of HTTP/2 sends first (RFC 9113, 3.4).
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// The bounds of what a server has of headers that are not complete, in bytes.
const (
	// mostOfHeader is what a client may have in any case.
	mostOfHeader = 4 << 10
	// mostOfHeaders is what all may have together, before those that have more than that are cut off.
	mostOfHeaders = 4 << 20
)

// errHeaders is why a connection is cut off.
var errHeaders = errors.New("there is no memory for more headers")

// listener gives connections that bound what the server keeps of a client before it is asked for anything.
type listener struct {
	net.Listener
	backlogs connections.Backlogs
	// headers is what there is of all headers that are not complete, in bytes.
	headers atomic.Int64
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &connection{TCPConn: accepted.(*net.TCPConn), of: l}, nil
}

// connectionOf is the key of a request's connection in its context.
type connectionOf struct{}

// connection is one of a client.
type connection struct {
	*net.TCPConn
	of *listener
	// begun is how much of the preface has come, -1 if the client does not speak HTTP/2. backlog is that of one that does.
	begun   int
	backlog atomic.Pointer[connections.Backlog]

	mu sync.Mutex
	// header is how much there is of a header of HTTP/1.1, and isServed whether a request is under way.
	header   int64
	isServed bool
}

// Read implements net.Conn.
func (c *connection) Read(into []byte) (int, error) {
	n, err := c.TCPConn.Read(into)
	if failed := c.received(into[:n]); failed != nil {
		_ = c.Close() // A reader may drop an error that comes once: bufio does when it has half a line.
		return 0, failed
	}
	return n, err
}

func (c *connection) received(part []byte) error {
	if backlog := c.backlog.Load(); backlog != nil {
		return backlog.Received(part)
	}
	rest := c.follow(part)
	if backlog := c.backlog.Load(); backlog != nil {
		c.serve(true)
		return errors.Join(backlog.Received([]byte(preface)), backlog.Received(rest))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isServed {
		return nil
	}
	size := int64(len(part) + ofField*bytes.Count(part, []byte("\n")))
	c.header += size
	if all := c.of.headers.Add(size); all > mostOfHeaders && c.header > mostOfHeader {
		return errHeaders
	}
	return nil
}

// follow looks for the preface. It returns what comes after it.
func (c *connection) follow(part []byte) (rest []byte) {
	for i, b := range part {
		switch {
		case c.begun < 0:
			return nil
		case b != preface[c.begun]:
			c.begun = -1
		default:
			c.begun++
		}
		if c.begun == len(preface) {
			c.backlog.Store(c.of.backlogs.Begin())
			return part[i+1:]
		}
	}
	return nil
}

// serve says whether a request of HTTP/1.1 is under way: what comes until the server waits for the next one is its body.
func (c *connection) serve(isServed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of.headers.Add(-c.header)
	c.header, c.isServed = 0, isServed
}

// Write implements net.Conn.
func (c *connection) Write(part []byte) (int, error) {
	if backlog := c.backlog.Load(); backlog != nil {
		return backlog.Write(c.TCPConn.Write, part)
	}
	return c.TCPConn.Write(part)
}

// Close implements net.Conn.
func (c *connection) Close() error {
	err := c.TCPConn.Close()
	c.serve(true)
	if backlog := c.backlog.Load(); backlog != nil {
		backlog.End()
	}
	return err
}

func isHTTP2(conn net.Conn) bool {
	c, ok := conn.(*connection)
	return ok && c.backlog.Load() != nil
}
