package responder

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder/live"
	"github.com/critical-service/operator/internal/version"
)

const (
	// shutdownTimeout bounds open connections after the listeners closed.
	shutdownTimeout = 5 * time.Second
	// spareFiles are open besides listeners and connections.
	spareFiles = 64
	// fewestConnections are worth starting for.
	fewestConnections = 16
)

// Run answers until the context ends, and while it drains after that.
func Run(ctx context.Context, options Options) error {
	ports, level, err := options.validate()
	if err != nil {
		return err
	}
	log := newLogger(os.Stderr, level, options.LogFormat)
	if options.MemoryLimit > 0 {
		debug.SetMemoryLimit(options.MemoryLimit)
	}
	most, err := roomForConnections(&options, ports, log)
	if err != nil {
		return err
	}
	room := newGate(most, options.MaxConnectionsPerListener, options.FirstByteTimeout)
	measured := newMetrics(func() float64 { return float64(room.count()) }, most)
	table := live.NewTable(live.Options{
		Table: options.Table, Content: options.Content, MaxContentBytes: options.MaxContentBytes,
		Recheck: options.Recheck, Log: log, Observer: measured,
	})
	table.Load()

	readiness := &state{}
	readiness.set("starting: not all ports are bound yet")
	stopAdmin, err := serveAdmin(ctx, options.AdminBindAddress, adminServer(readiness, measured), log)
	if err != nil {
		return err
	}
	defer stopAdmin()
	// What serves goes on after ctx, until it is drained.
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	listeners, err := bind(ctx, options.BindAddress, ports)
	if err != nil {
		return err
	}
	measured.listeners.WithLabelValues("bound").Set(float64(len(listeners)))
	s := newServer(serving, &options, table, room, measured, log)
	go table.Run(serving)
	go func() { _ = s.http.Serve(s.toHTTP) }() // It ends when the server does, with an error that says so.
	accepted := make(chan struct{})
	go func() {
		defer close(accepted)
		accept(listeners, ports.First, log, s.admit)
	}()
	readiness.set(ready)
	log.Info("listening", "listeners", ports.String(), "maxConnections", most, "version", version.Version, "commit", version.Commit)
	<-ctx.Done()
	readiness.set("draining: other Pods answer from now on")
	log.Info("draining: answering until the proxies have followed", "for", options.Drain.String())
	<-time.After(options.Drain)
	return shutDown(serving, s, listeners, accepted)
}

// shutDown closes the listeners and waits for open connections, but not for ever.
func shutDown(ctx context.Context, s *server, listeners []*net.TCPListener, accepted <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	err := s.end(ctx, listeners)
	<-accepted
	if errors.Is(err, context.DeadlineExceeded) {
		s.log.Info("stopped with open connections", "connections", s.gate.count())
		return nil
	}
	return err
}

// serveAdmin serves the admin port. The returned function ends that.
func serveAdmin(ctx context.Context, address string, server *http.Server, log logr.Logger) (stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on --admin-bind-address=%s: %w", address, err)
	}
	go func() {
		if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Error(err, "serve the admin port")
		}
	}()
	return func() { _ = server.Close() }, nil // Its answers are of no use any more.
}

// roomForConnections is how many connections may be open: as many as asked for,
// or fewer if the process may not have that many files open.
func roomForConnections(options *Options, ports listener.Range, log logr.Logger) (int, error) {
	most, known := openFiles()
	needed := int64(ports.Last-ports.First+1) + spareFiles
	wanted := options.MaxConnections
	if !known || most >= needed+int64(wanted) {
		return wanted, nil
	}
	if most < needed+fewestConnections {
		return 0, fmt.Errorf("--listeners=%s needs at least %d open files, and the process may have %d (ulimit -n)",
			ports, needed+fewestConnections, most)
	}
	log.Info("lowering --max-connections to what the limit of open files allows (ulimit -n)",
		"wanted", wanted, "connections", most-needed, "openFiles", most)
	return int(most - needed), nil
}
