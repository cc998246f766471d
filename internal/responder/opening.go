package responder

import (
	"errors"
	"time"

	"github.com/critical-service/operator/internal/responder/protocol"
)

// openingBytes are read at first: most requests as a whole, so that it takes one
// system call.
const openingBytes = 1 << 10

// open reads until the protocol is known, and past a header of the PROXY protocol. It
// waits at most the given time for the first byte of the client itself. If the kind is
// PROXY, that header is malformed.
//
// The address that the header names is not used: no one vouches for it.
func (s *server) open(c *connection, wait time.Duration) (first []byte, kind protocol.Kind, err error) {
	first, kind, err = s.detect(c, wait)
	if err != nil || kind != protocol.PROXY {
		return first, kind, err
	}
	c.first = first
	if err := protocol.SkipProxyHeader(c); err != nil {
		return nil, protocol.PROXY, err
	}
	return s.detect(c, wait)
}

// detect reads until the protocol is known, and waits at most the given time for
// the first byte. The error is that of reading.
func (s *server) detect(c *connection, wait time.Duration) (first []byte, kind protocol.Kind, err error) {
	buffer := make([]byte, 0, openingBytes)
	if err := c.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, protocol.Unknown, err
	}
	for len(buffer) < cap(buffer) {
		n, err := c.Read(buffer[len(buffer):cap(buffer)])
		if len(buffer) == 0 && n > 0 {
			c.place.is(waiting)
			err = errors.Join(err, c.SetReadDeadline(time.Now().Add(s.options.HeaderTimeout)))
		}
		buffer = buffer[:len(buffer)+n]
		kind, enough := protocol.Detect(buffer)
		if enough && len(buffer) > 0 {
			return buffer, kind, nil
		}
		if err != nil {
			return buffer, protocol.Unknown, err
		}
	}
	return buffer, protocol.Unknown, nil
}
