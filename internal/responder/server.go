package responder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-logr/logr"

	"github.com/critical-service/operator/internal/connections"
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
	// backlogs are those of its clients of HTTP/2.
	backlogs connections.Backlogs
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
			return context.WithValue(ctx, connectionKey{}, c)
		},
		ConnState: followHTTP2,
	}
	return s
}

// connectionKey is the key of the connection in the context of a request.
type connectionKey struct{}

// admit takes a connection, if there is room, or closes it at once.
func (s *server) admit(c *net.TCPConn, port int32) {
	now := time.Now()
	own := &connection{stream: c, end: now.Add(s.options.ConnectionTimeout)}
	own.release = func() { s.gate.leave(&own.place) }
	own.place = place{
		port: port, service: s.table.Entry(port).Service, client: addressOf(c.RemoteAddr()), since: now,
		displace: func() {
			s.metrics.rejected.Inc()
			_ = c.Close() // What reads or writes fails, and ends the rest.
		},
	}
	if !s.gate.enter(&own.place) {
		s.metrics.rejected.Inc()
		_ = c.Close() // Nothing was said yet.
		return
	}
	go s.serve(own)
}

// addressOf is the address of a client, without its port.
func addressOf(remote net.Addr) netip.Addr {
	if tcp, isTCP := remote.(*net.TCPAddr); isTCP {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// serve detects what a client speaks, and answers it.
func (s *server) serve(c *connection) {
	entry, started := s.table.Entry(c.place.port), time.Now()
	defer func() {
		if problem := recover(); problem != nil {
			s.metrics.panics.Inc()
			s.log.Error(fmt.Errorf("%v", problem), "connection dropped because of a bug", "port", c.place.port, "stack", string(debug.Stack()))
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
	first, kind, err := s.open(c, wait)
	if len(first) == 0 && entry.MayBeMySQL && errors.Is(err, os.ErrDeadlineExceeded) {
		kind, err = protocol.MySQL, nil
	}
	switch {
	case kind == protocol.PROXY:
		s.metrics.connected(entry, string(kind))
		_ = c.Close() // Its header is not one, and what is behind it is not to be trusted.
	case err != nil && len(first) == 0:
		s.metrics.connected(entry, silent)
		_ = c.Close() // It said nothing: a probe of a load balancer, or a client that waits for the server.
	case kind == protocol.HTTP2 && !s.gate.enterHTTP2(&c.place):
		s.metrics.rejected.Inc()
		_ = c.Close() // Nothing was said yet.
	case kind == protocol.HTTP1 || kind == protocol.HTTP2:
		s.metrics.connected(entry, string(kind))
		s.handOver(c, kind, first)
	default:
		s.refuse(c, entry, spoken(entry, kind), first, started)
	}
}

// handOver gives a connection to the HTTP server.
func (s *server) handOver(c *connection, kind protocol.Kind, first []byte) {
	c.first, c.linger = first, s.options.MaxBodyBytes
	if kind == protocol.HTTP1 {
		c.first = protocol.SkipEmptyLines(first)
		c.lines = mostLines + 1 // And that of the request itself.
	} else {
		c.backlog = s.backlogs.Begin()
	}
	s.toHTTP.give(c)
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

func (s *server) refuse(c *connection, entry *live.Entry, kind protocol.Kind, first []byte, started time.Time) {
	s.metrics.connected(entry, string(kind))
	c.place.is(waiting)
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
	own, _ := r.Context().Value(connectionKey{}).(*connection) // Every request has one.
	entry, started := s.table.Entry(own.place.port), time.Now()
	if r.ProtoMajor == 1 {
		own.place.is(answering)
		leaveBody(r, own)
	}
	recorded := &recorder{ResponseWriter: w, status: http.StatusOK}
	entry.Site.ServeHTTP(recorded, r)
	kind, status := recorded.outcome(r)
	if strings.HasPrefix(r.UserAgent(), listener.SelfTestAgent) {
		s.metrics.tested(entry, kind)
		return
	}
	s.metrics.answered(entry, kind, status, time.Since(started))
}

// leaveBody keeps package http from reading a body: it waits for one without a length,
// and then closes without reading the rest. The connection reads what comes of
// either kind, when the answer is sent.
func leaveBody(r *http.Request, c *connection) {
	if r.ContentLength != 0 {
		_ = c.SetReadDeadline(time.Unix(1, 0)) // If it fails, reads will.
		r.Body = http.NoBody
	}
}

// followHTTP2 records whether a connection of HTTP/2 has a request.
func followHTTP2(c net.Conn, now http.ConnState) {
	own, isOurs := c.(*connection)
	switch {
	case !isOurs || !own.place.isHTTP2:
	case now == http.StateActive:
		own.place.is(answering)
	case now == http.StateIdle:
		own.place.is(waiting)
	}
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
