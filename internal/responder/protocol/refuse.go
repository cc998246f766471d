package protocol

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

const (
	// timeout bounds the whole exchange.
	timeout = 10 * time.Second
	// readLimit is how much is read of a client before it has its answer.
	readLimit = 8 << 20
	// lingerTime and lingerBytes bound what is read, after the answer, of a client
	// that goes on sending.
	lingerTime  = time.Second
	lingerBytes = 256 << 10
	// bufferSize is what a connection needs in each direction. It holds any answer,
	// and any line that is read.
	bufferSize = 1 << 10
)

// errTimeout is the cause of a context that ends because a client was too slow.
var errTimeout = fmt.Errorf("the client took longer than %s", timeout)

// client is the other side of a connection that is being refused. What was
// written is sent before anything more is waited for.
type client struct {
	in  *bufio.Reader
	out *bufio.Writer
	// left counts what may still be read.
	left *io.LimitedReader
	// conn is for deadlines and for closing.
	conn net.Conn
}

// Refuse tells the client, in its protocol, that the Service is not available
// now, with message in words, and closes conn. Kinds that have no answer here
// (Unknown, and HTTP, which is answered elsewhere) are closed without a word.
//
// The bytes that were already read of conn are first; there may be none. Refuse
// keeps to the deadlines of conn and to ctx, and besides takes no longer than
// some seconds and reads no more than a few MiB. So that the client sees the answer
// and then an end, and not a reset, conn should have a method CloseWrite, as
// those of package net have.
//
// An error says why there was no answer, or none to the end. It is not an error
// that the client leaves before it has said anything.
func Refuse(ctx context.Context, conn net.Conn, kind Kind, first []byte, message string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errTimeout)
	defer cancel()
	stop := interrupt(ctx, conn)
	defer stop()

	peer := newClient(conn, first)
	err := answer(ctx, peer, kind, sentence(message))
	// A read fails when no bytes, or no time, are left; what was written until then
	// is still to be sent.
	err = errors.Join(err, peer.out.Flush())
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	hangUp(ctx, peer)
	if err != nil {
		return fmt.Errorf("refusing a client by %s: %w", kind, err)
	}
	return nil
}

func answer(ctx context.Context, peer *client, kind Kind, message string) error {
	switch kind {
	case MySQL:
		return refuseMySQL(peer, message)
	case TLS:
		return refuseTLS(peer)
	case MongoDB:
		return refuseMongoDB(peer, message)
	case PostgreSQL, Redis:
	default:
		return nil
	}
	// A hint may be right about the protocol and silent about the TLS around it.
	begin, err := peer.in.Peek(1)
	switch {
	case hasLeft(err):
		return nil
	case err != nil:
		return err
	case begin[0] == recordHandshake:
		return refuseTLS(peer)
	case kind == PostgreSQL:
		return refusePostgreSQL(peer, message)
	}
	return refuseRedis(ctx, peer, message)
}

// interrupt lets reads and writes fail as soon as ctx ends. It never lengthens a
// deadline that the caller has set.
func interrupt(ctx context.Context, conn net.Conn) (stop func() bool) {
	return context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
}

// hangUp ends the connection in such a way that the client reads all that was
// written: a connection that is closed while something of the client is unread
// is reset, and a reset may overtake the answer.
func hangUp(ctx context.Context, peer *client) {
	half, isHalf := peer.conn.(interface{ CloseWrite() error })
	if isHalf && half.CloseWrite() == nil {
		// Setting the deadline comes before looking at ctx, whose end sets one, too.
		_ = peer.conn.SetReadDeadline(time.Now().Add(lingerTime))
		if ctx.Err() == nil {
			peer.left.N = lingerBytes
			_, _ = peer.in.Discard(lingerBytes)
		}
	}
	_ = peer.conn.Close()
}

func newClient(conn net.Conn, first []byte) *client {
	out := bufio.NewWriterSize(conn, bufferSize)
	source := flushing{io.MultiReader(bytes.NewReader(first), conn), out}
	left := &io.LimitedReader{R: source, N: readLimit}
	return &client{in: bufio.NewReaderSize(left, bufferSize), out: out, left: left, conn: conn}
}

// flushing is a reader that sends what waits to be sent before it waits itself.
type flushing struct {
	source io.Reader
	out    *bufio.Writer
}

func (f flushing) Read(p []byte) (int, error) {
	if err := f.out.Flush(); err != nil {
		return 0, err
	}
	return f.source.Read(p)
}

// hasLeft reports whether a client went away between two messages, as checks of a
// port do, some of them by a reset.
func hasLeft(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

// cutShort distinguishes an end within a message from one between two.
func cutShort(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
