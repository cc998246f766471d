// Package application is what the scorecard tests protect: a web server that is another mode of the
// very program that tests, so that no further image is needed, in disconnected clusters too.
package application

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// Port is where the application listens.
	Port int32 = 8080
	// Header tells an answer of the application from all others. Its value is the application's name.
	Header = "Critical-Service-Scorecard"
	// ReadyPath answers while the application wants requests.
	ReadyPath = "/readyz"

	// drain is how long the application goes on answering after SIGTERM, as Kubernetes
	// advises: longer than the proxies of all nodes take to follow.
	drain = 4 * time.Second
)

// Serve answers under a name until the context ends, and a little longer.
func Serve(ctx context.Context, name string) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(int(Port))))
	if err != nil {
		return fmt.Errorf("cannot listen on port %d: %w", Port, err)
	}
	return serve(ctx, listener, name, drain)
}

func serve(ctx context.Context, listener net.Listener, name string, drain time.Duration) error {
	var stopping atomic.Bool
	server := &http.Server{Handler: handler(name, &stopping), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()

	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	stopping.Store(true)
	// The context is over: what is under way gets a time limit of its own.
	drained, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	select {
	case err := <-served:
		return err
	case <-drained.Done():
	}
	finish, stop := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer stop()
	if err := server.Shutdown(finish); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}

func handler(name string, stopping *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+ReadyPath, func(w http.ResponseWriter, _ *http.Request) {
		if stopping.Load() {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ready\n")
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(Header, name)
		_, _ = io.WriteString(w, "The application answers.\n")
	})
	return mux
}
