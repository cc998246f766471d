package responder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder/live"
	"github.com/critical-service/operator/internal/responder/protocol"
)

// streams is how many requests an HTTP/2 client may have open at once. Each holds
// its header for as long as the client does not take the answer.
const streams = 8

// frame is how large a frame of HTTP/2 may be: the least that the protocol lets a
// server ask for. A client that merely begins a frame makes the server get a
// buffer for all of it.
const frame = 16 << 10

// window is how much an HTTP/2 client may send unasked: what the protocol lets
// it send before it has heard of any limit. Nothing of it is used.
const window = 1<<16 - 1

// greetingAfter is how long a client may say nothing on a port that is MySQL's by
// its name or number only, until it is taken for one that waits for a greeting.
const greetingAfter = 200 * time.Millisecond

// server answers connections.
type server struct {
	options *Options
	table   *live.Table
	gate    *gate
	metrics *metrics
	log     logr.Logger
	http    *http.Server
	toHTTP  *handover
	// refusing ends with the server, and with it what Refuse is about.
	refusing context.Context //nolint:containedctx // It is that of all connections.
}

func newServer(ctx context.Context, options *Options, table *live.Table, gate *gate, metrics *metrics, log logr.Logger) *server {
	s := &server{
		options: options, table: table, gate: gate, metrics: metrics, log: log, refusing: ctx,
		toHTTP: newHandover(),
	}
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	s.http = &http.Server{
		Handler:   http.HandlerFunc(s.serveHTTP),
		Protocols: protocols,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: streams, MaxReadFrameSize: frame,
			MaxReceiveBufferPerConnection: window, MaxReceiveBufferPerStream: window,
		},
		ReadHeaderTimeout: options.HeaderTimeout,
		ReadTimeout:       options.ConnectionTimeout,
		WriteTimeout:      options.ConnectionTimeout,
		IdleTimeout:       options.IdleTimeout,
		MaxHeaderBytes:    options.MaxHeaderBytes,
		// "OPTIONS *" is answered as any other request, and not by package http.
		DisableGeneralOptionsHandler: true,
		// Mistakes of clients are nothing that an administrator could fix.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(log.V(1)), slog.LevelInfo),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			if own, isOurs := c.(*connection); isOurs {
				return context.WithValue(ctx, portKey{}, own.port)
			}
			return ctx
		},
	}
	return s
}

// portKey is the key of the listener's port in the context of a request.
type portKey struct{}

// admit takes a connection, if there is room, or closes it at once.
func (s *server) admit(c *net.TCPConn, port int32) {
	leave, ok := s.gate.enter(port)
	if !ok {
		s.metrics.rejected.Inc()
		_ = c.Close() // Nothing was said yet.
		return
	}
	own := &connection{TCPConn: c, port: port, end: time.Now().Add(s.options.ConnectionTimeout), release: leave}
	go s.serve(own)
}

// admitHTTP2 lets a connection take one of the places for HTTP/2 until it is
// closed, if there is one.
func (s *server) admitHTTP2(c *connection) bool {
	leave, ok := s.gate.enterHTTP2()
	if !ok {
		return false
	}
	before := c.release
	c.release = func() {
		leave()
		before()
	}
	return true
}

// serve detects what a client speaks, and answers it.
func (s *server) serve(c *connection) {
	entry, started := s.table.Entry(c.port), time.Now()
	defer func() {
		if problem := recover(); problem != nil {
			s.metrics.panics.Inc()
			s.log.Error(fmt.Errorf("%v", problem), "connection dropped because of a bug", "port", c.port, "stack", string(debug.Stack()))
			_ = c.Close() // The client gets no better answer now.
		}
	}()
	if entry.Hint == protocol.MySQL {
		s.refuse(c, entry, entry.Hint, nil, started)
		return
	}
	wait := s.options.FirstByteTimeout
	if entry.MayBeMySQL {
		wait = min(wait, greetingAfter)
	}
	first, kind, err := s.detect(c, wait)
	switch {
	case len(first) == 0 && entry.MayBeMySQL && errors.Is(err, os.ErrDeadlineExceeded):
		s.refuse(c, entry, protocol.MySQL, nil, started)
	case err != nil && len(first) == 0:
		s.metrics.connected(entry, silent)
		_ = c.Close() // It said nothing: a probe of a load balancer, or a client that waits for the server.
	case kind == protocol.HTTP2 && !s.admitHTTP2(c):
		s.metrics.rejected.Inc()
		_ = c.Close() // Nothing was said yet.
	case kind == protocol.HTTP1 || kind == protocol.HTTP2:
		s.metrics.connected(entry, string(kind))
		c.first, c.linger = first, s.options.MaxBodyBytes
		if kind == protocol.HTTP1 {
			c.lines = mostLines + 1 // And that of the request itself.
		}
		s.toHTTP.give(c)
	default:
		s.refuse(c, entry, spoken(entry, kind), first, started)
	}
}

// spoken is the protocol in which a client that does not speak HTTP is refused:
// that of the appProtocol where databases share a port only with TLS, else
// what was seen.
func spoken(entry *live.Entry, seen protocol.Kind) protocol.Kind {
	if seen != protocol.TLS && (entry.Hint == protocol.PostgreSQL || entry.Hint == protocol.Redis) {
		return entry.Hint
	}
	return seen
}

// detect reads until the protocol is known, and waits at most the given time for
// the first byte. The error is that of reading.
func (s *server) detect(c *connection, wait time.Duration) (first []byte, kind protocol.Kind, err error) {
	buffer := make([]byte, 0, 4*protocol.DetectLimit)
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return nil, protocol.Unknown, err
	}
	for len(buffer) < cap(buffer) {
		n, err := c.Read(buffer[len(buffer):cap(buffer)])
		if len(buffer) == 0 && n > 0 {
			err = errors.Join(err, c.SetDeadline(time.Now().Add(s.options.HeaderTimeout)))
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

func (s *server) refuse(c *connection, entry *live.Entry, kind protocol.Kind, first []byte, started time.Time) {
	s.metrics.connected(entry, string(kind))
	defer c.Close()
	status := "refused"
	err := c.SetDeadline(c.end)
	if err == nil {
		err = protocol.Refuse(s.refusing, c, kind, first, entry.Message)
	}
	if err != nil {
		status = "aborted"
		s.log.V(1).Info("client not refused in its protocol", "service", entry.Service, "protocol", kind, "error", err.Error())
	}
	if bytes.Contains(first, []byte(listener.SelfTestAgent)) {
		s.metrics.tested(entry, string(kind))
		return
	}
	s.metrics.answered(entry, string(kind), status, time.Since(started))
}

// serveHTTP answers one request, and counts it.
func (s *server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	port, _ := r.Context().Value(portKey{}).(int32)
	entry, started := s.table.Entry(port), time.Now()
	recorded := &recorder{ResponseWriter: w, status: http.StatusOK}
	entry.Site.ServeHTTP(recorded, r)
	kind, status := recorded.outcome(r)
	if strings.HasPrefix(r.UserAgent(), listener.SelfTestAgent) {
		s.metrics.tested(entry, kind)
		return
	}
	s.metrics.answered(entry, kind, status, time.Since(started))
}

// end stops to take connections from the listeners and waits for those that are
// open.
func (s *server) end(ctx context.Context, listeners []*net.TCPListener) error {
	var errs []error
	for _, l := range listeners {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, s.http.Shutdown(ctx))...)
}

var _ io.WriterTo = &connection{}
