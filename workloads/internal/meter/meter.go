// Package meter is the proxy that counts the HTTP requests of a WebApp's Pod: it stands before the
// application, in the same Pod, and changes nothing of what passes through.
package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"

	"github.com/critical-service/operator/workloads/internal/metering"
)

// The bounds of what clients can take: together they fit metering.MemoryLimit.
const (
	maxInFlight = 1024
	// maxWaiting is how many requests wait for their bodies, which they do without a place.
	maxWaiting     = 1024
	maxConnections = 1536
	// maxHTTP2 is how many of them are of HTTP/2: each takes more memory, and carries more requests.
	maxHTTP2 = 80
	// maxMemory is what all requests may take at once, in bytes, as cost counts it.
	maxMemory       = 32 << 20
	maxHeaderBytes  = 16 << 10
	maxHeaderFields = 128
	// maxStreams is how many requests a connection of HTTP/2 carries at once: an ingress may have only one. The headers of all streams
	// of all connections have room, as net/http refuses some by itself, and keeps them until the client takes that.
	maxStreams = 100
	// maxFrame is as small as the protocol lets it be: a client that begins a frame makes the server get room for all of it.
	maxFrame = 16 << 10
	// maxUpload is what is kept of a request's body, in bytes: what a client of HTTP/2 may send before it knows of any bound.
	maxUpload = 64 << 10
	// maxUploads is what is kept of those of a connection: what one does not take leaves room for others.
	maxUploads = 4 * maxUpload
	// maxStatusConnections is how many there are for metrics and probes: more than ask at once.
	maxStatusConnections = 32
	headerTimeout        = 10 * time.Second
	// bodyTimeout is how long a request waits for the first byte of its body, without a place.
	bodyTimeout = 5 * time.Second
	// progressTimeout is how long a client may neither send nor take a byte of what is under way.
	progressTimeout = 30 * time.Second
	// idleTimeout is longer than that of the usual load balancers, which must be the first to close.
	idleTimeout = 620 * time.Second
)

// Options are those of the program.
type Options struct {
	// Listen and Metrics are the addresses of both ports.
	Listen, Metrics string
	// App is the address of the application.
	App string
	// Drain is how long requests are taken after the end was asked for: until proxies know.
	Drain time.Duration
	// Log gets what goes wrong.
	Log *slog.Logger
}

// Meter counts requests.
type Meter struct {
	options         Options
	waiting, places *places
	memory          budget
	// progress is how long a client may neither send nor take a byte.
	progress time.Duration
	// total is how many requests there were, including those that found no place: they are the
	// traffic that asks for more Pods.
	total atomic.Int64
	proxy *httputil.ReverseProxy
}

// New makes a Meter.
func New(options Options) *Meter {
	m := &Meter{options: options, waiting: newPlaces(maxWaiting), places: newPlaces(maxInFlight), progress: progressTimeout}
	m.proxy = &httputil.ReverseProxy{
		Rewrite: m.rewrite, Transport: newBackend(options.App), FlushInterval: -1, BufferPool: newBuffers(),
		ErrorHandler: m.failed, ErrorLog: slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
	}
	return m
}

// Run serves until the context ends and the drain after it is over.
func (m *Meter) Run(ctx context.Context) error {
	listen := net.ListenConfig{Control: sendLittleAhead}
	listen.SetMultipathTCP(false) // With it, connections do not inherit what Control sets.
	traffic, err := listen.Listen(ctx, "tcp", m.options.Listen)
	if err != nil {
		return fmt.Errorf("listen for traffic: %w", err)
	}
	metrics, err := listen.Listen(ctx, "tcp", m.options.Metrics)
	if err != nil {
		return errors.Join(fmt.Errorf("listen for metrics: %w", err), traffic.Close())
	}
	server, status := m.server(), m.statusServer()
	ended := make(chan error, 2)
	go func() { ended <- server.Serve(&listener{Listener: traffic}) }()
	go func() { ended <- status.Serve(metrics) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	return errors.Join(m.drain(context.WithoutCancel(ctx), server), status.Close())
}

// drain goes on until no proxy sends anything, and then until what is under way is done. Kubernetes
// ends the process after the grace period of the Pod.
func (m *Meter) drain(ctx context.Context, server *http.Server) error {
	server.SetKeepAlivesEnabled(false)
	timer := time.NewTimer(m.options.Drain)
	defer timer.Stop()
	<-timer.C
	if err := server.Shutdown(ctx); err != nil {
		return fmt.Errorf("drain: %w", err)
	}
	m.places.wait() // For upgraded connections, of which a server knows nothing.
	return nil
}

func (m *Meter) server() *http.Server {
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	all, multiplexed := newLimit(maxConnections), newLimit(maxHTTP2)
	return &http.Server{
		Handler: http.HandlerFunc(m.serve), Protocols: protocols,
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReadFrameSize: maxFrame,
			MaxReceiveBufferPerConnection: maxUploads, MaxReceiveBufferPerStream: maxUpload,
			WriteByteTimeout: m.progress, // A stream's own deadline ends nothing while the connection takes nothing.
		},
		DisableGeneralOptionsHandler: true, // It is for the application to answer.
		// The answers of net/http have to be taken in time. The application has its own.
		WriteTimeout: m.progress,
		ConnState: func(conn net.Conn, state http.ConnState) {
			all.changed(conn, state)
			if isHTTP2(conn) {
				multiplexed.changed(conn, state)
			} else if client, ok := conn.(*connection); ok && state == http.StateIdle {
				client.serve(false)
			}
		},
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, connectionOf{}, conn)
		},
		ErrorLog: slog.NewLogLogger(m.options.Log.Handler(), slog.LevelDebug),
	}
}

// serve forwards one request once it has a place.
func (m *Meter) serve(w http.ResponseWriter, r *http.Request) {
	if conn, ok := r.Context().Value(connectionOf{}).(*connection); ok && r.ProtoMajor == 1 {
		conn.serve(true)
	}
	control := http.NewResponseController(w)
	defer m.inTime(control, r)
	size := cost(r)
	if !m.memory.take(size) {
		m.total.Add(1)
		panic(http.ErrAbortHandler) // An answer would take memory as well, until the client takes it.
	}
	defer m.memory.leave(size)
	if fields(r.Header) > maxHeaderFields {
		m.refuse(w, r, "too many header fields", http.StatusRequestHeaderFieldsTooLarge)
		return
	}
	arrived, ok := m.waiting.take()
	if !ok {
		m.tooMany(w, r)
		return
	}
	body, from, err := m.awaited(control, r)
	defer from.end()
	arrived()
	if err != nil {
		w.Header().Set("Connection", "close")
		m.refuse(w, r, "the body of the request does not come", http.StatusRequestTimeout)
		return
	}
	r.Body = body
	leave, ok := m.places.take()
	if !ok {
		m.tooMany(w, r)
		return
	}
	defer leave()
	m.total.Add(1)
	_ = control.SetWriteDeadline(time.Time{}) // The application has its time.
	m.proxy.ServeHTTP(&patient{w, control, m.progress, from}, r)
}

// tooMany refuses a request that finds no place.
func (m *Meter) tooMany(w http.ResponseWriter, r *http.Request) {
	m.total.Add(1)
	w.Header().Set("Retry-After", "1")
	m.refuse(w, r, "too many requests at once", http.StatusServiceUnavailable)
}

// refuse answers in place of the application. The request has its memory until the client has taken the answer.
func (m *Meter) refuse(w http.ResponseWriter, r *http.Request, message string, status int) {
	control := http.NewResponseController(w)
	m.inTime(control, r)
	http.Error(w, message, status)
	_ = control.Flush() // If it is not taken, the request ends.
}

// inTime bounds how long a client takes what is left of an answer. In HTTP/1.1 it has to send the rest of its body meanwhile, which
// a server awaits before it writes.
func (m *Meter) inTime(control *http.ResponseController, r *http.Request) {
	if r.ProtoMajor >= 2 && r.Context().Err() != nil {
		return // It is gone, and its stream would be kept for the deadline.
	}
	_ = control.SetWriteDeadline(time.Now().Add(m.progress))
	if r.ProtoMajor == 1 {
		_ = control.SetReadDeadline(time.Now().Add(m.progress))
	}
}

// fields counts header fields: many small ones cost more than their bytes.
func fields(header http.Header) int {
	count := 0
	for _, values := range header {
		count += len(values)
	}
	return count
}

// rewrite changes nothing but where the request goes: the meter is part of the application. The
// address of the client is added where proxies add it.
func (m *Meter) rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.Scheme, r.Out.URL.Host = "http", m.options.App
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = r.In.Host
	for _, name := range []string{"Forwarded", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, has := r.In.Header[name]; has {
			r.Out.Header[name] = values
		}
	}
	if client, _, err := net.SplitHostPort(r.In.RemoteAddr); err == nil {
		r.Out.Header.Set("X-Forwarded-For", strings.Join(append(r.In.Header.Values("X-Forwarded-For"), client), ", "))
	}
	if _, has := r.In.Header["User-Agent"]; !has {
		r.Out.Header["User-Agent"] = nil // Without this, one of Go's own would be sent.
	}
}

// failed answers where the application does not.
func (m *Meter) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // The client is gone.
	}
	m.options.Log.Debug("the application does not answer", "error", err)
	m.refuse(w, r, "the application does not answer", http.StatusBadGateway)
}

// statusServer serves metrics and probes.
func (m *Meter) statusServer() *http.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+metering.MetricsPath, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = fmt.Fprintf(w, "# HELP %[1]s HTTP requests, including those that found no place.\n# TYPE %[1]s counter\n%[1]s %[2]d\n"+
			"# HELP %[3]s HTTP requests under way.\n# TYPE %[3]s gauge\n%[3]s %[4]d\n",
			metering.MetricRequests, m.total.Load(), metering.MetricInFlight, m.places.taken())
	})
	mux.HandleFunc("GET "+metering.LivePath, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") })
	mux.HandleFunc("GET "+metering.ReadyPath, func(w http.ResponseWriter, r *http.Request) {
		dialer := net.Dialer{Timeout: time.Second}
		connection, err := dialer.DialContext(r.Context(), "tcp", m.options.App)
		if err != nil {
			http.Error(w, "the application does not listen", http.StatusServiceUnavailable)
			return
		}
		_ = connection.Close()
		_, _ = io.WriteString(w, "ok\n")
	})
	return &http.Server{
		Handler: mux, ReadTimeout: headerTimeout, WriteTimeout: headerTimeout, MaxHeaderBytes: maxHeaderBytes / 4,
		ConnState: newLimit(maxStatusConnections).changed,
		ErrorLog:  slog.NewLogLogger(m.options.Log.Handler(), slog.LevelDebug),
	}
}
