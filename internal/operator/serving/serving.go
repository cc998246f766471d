// Package serving bounds what a client without credentials may cost this process.
// Webhook, metrics and probes are reached from every Pod of the cluster, and the
// process that serves them is the one that acts in an outage.
package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/critical-service/operator/internal/connections"
)

const (
	// mostConnections is how many are open at once. The API server opens one per
	// request under way, and keeps some.
	mostConnections = 256
	// maxHeader is how many bytes the header of a request may have, besides some that
	// the library adds.
	maxHeader = 16 << 10
	// readTimeout is how long a client may take for its request, or for a handshake,
	// which may have to wait for a certificate. The API server waits no longer than
	// writeTimeout for an answer.
	readTimeout  = 25 * time.Second
	writeTimeout = 30 * time.Second
	// idleTimeout is how long a connection waits for its next request, as in Go's
	// own clients.
	idleTimeout = 90 * time.Second
	// shutdownTimeout is how long requests under way are waited for.
	shutdownTimeout = time.Second
)

// TLS makes a server speak HTTP/1.1 alone, since one connection of HTTP/2 asks for
// as much work as a client likes (CVE-2023-44487, CVE-2023-39325), and TLS 1.2 or
// later: an API server or a scraper that is built for FIPS 140-2 may know no 1.3.
func TLS(config *tls.Config) {
	config.NextProtos = []string{"http/1.1"}
	config.MinVersion = tls.VersionTLS12
}

// Server serves a handler, with at most so many connections open. A client holds one for no
// longer than the timeouts above, and at most a header of 16 KiB with it.
func Server(handler http.Handler, most int) *http.Server {
	server := &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    maxHeader,
		ReadHeaderTimeout: readTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
	}
	connections.Limit(server, most)
	return server
}

// Run serves a handler over TLS until the context ends, and calls back once it
// listens.
func Run(ctx context.Context, address string, config *tls.Config, handler http.Handler, listens func()) error {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for the API server: %w", err)
	}
	listens()
	server := Server(handler, mostConnections)
	server.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	defer context.AfterFunc(ctx, func() { ended <- end(context.WithoutCancel(ctx), server) })()
	if err := server.Serve(tls.NewListener(listener, config)); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the API server: %w", err)
	}
	return <-ended
}

// end waits for requests under way. A connection that was opened and not used yet
// counts as one for 5 s, which the next leader need not wait for.
func end(ctx context.Context, server *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return server.Close()
}
