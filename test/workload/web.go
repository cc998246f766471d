package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/critical-service/operator/test/prober"
)

// web is a server that says who it is, and misbehaves as configured.
type web struct {
	ports      []int
	name       string
	text       string
	status     int
	neverReady bool
	crashAfter time.Duration
	drain      time.Duration
	close      bool
	control    bool

	stopping atomic.Bool
	unready  atomic.Bool
	served   counters
}

// errCrash ends the process with an error, as --crash-after asks for.
var errCrash = errors.New("crashed, as --crash-after asks for")

// crashed is the exit code of POST /crash: that of a process that was killed.
const crashed = 137

func webCommand() *cobra.Command {
	server := &web{}
	command := &cobra.Command{
		Use:   "web",
		Short: "Serve a page that says who answers, a counter of requests (/metrics), and what a database of MySQL says (/db)",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return server.run(command.Context(), command.Flags().Changed("crash-after"))
		},
	}
	flags := command.Flags()
	flags.IntSliceVar(&server.ports, "port", []int{8080}, "port to listen on; may be given several times")
	flags.StringVar(&server.name, "name", hostname(), "who answers, as the header "+prober.AnsweredByHeader+" says")
	flags.StringVar(&server.text, "text", "It works.", "the page")
	flags.IntVar(&server.status, "status", http.StatusOK, "HTTP status of the page; 503 adds Retry-After")
	flags.BoolVar(&server.neverReady, "never-ready", false, "answer 503 on /readyz for ever")
	flags.DurationVar(&server.crashAfter, "crash-after", 0, "exit with an error after this time; 0s crashes at once")
	flags.DurationVar(&server.drain, "drain", 0, "go on serving for this long after SIGTERM, with /readyz saying 503")
	flags.BoolVar(&server.close, "close", false, "close the connection after each answer, as a fallback should")
	flags.BoolVar(&server.control, "control", false, "obey POST /crash (exit at once, as if killed) and POST /unready (answer 503 on /readyz from now on)")
	return command
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unnamed"
	}
	return name
}

func (s *web) run(ctx context.Context, crash bool) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if crash && s.crashAfter == 0 {
		return errCrash // Before it listens: a readiness probe could slip in.
	}
	if crash {
		timer := time.AfterFunc(s.crashAfter, func() { cancel(errCrash) })
		defer timer.Stop()
	}

	server := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 5 * time.Second}
	served := make(chan error, len(s.ports))
	for _, port := range s.ports {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("", strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("cannot listen on port %d: %w", port, err)
		}
		go func() { served <- server.Serve(listener) }()
	}

	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	if errors.Is(context.Cause(ctx), errCrash) {
		return errCrash
	}
	s.stopping.Store(true)
	time.Sleep(s.drain)
	// The context of the command is over: what is in flight gets a time limit of its own.
	finish, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	return server.Shutdown(finish)
}

func (s *web) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "ok\n")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if s.neverReady || s.stopping.Load() || s.unready.Load() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	if s.control {
		mux.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) { os.Exit(crashed) })
		mux.HandleFunc("POST /unready", func(http.ResponseWriter, *http.Request) { s.unready.Store(true) })
	}
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) { s.served.write(w) })
	mux.HandleFunc("GET /db", s.serveDatabase)
	mux.HandleFunc("/", s.servePage)
	return mux
}

func (s *web) servePage(w http.ResponseWriter, _ *http.Request) {
	s.served.page.Add(1)
	s.sign(w)
	if s.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "5")
	}
	w.WriteHeader(s.status)
	_, _ = fmt.Fprintln(w, s.text)
}

// sign sets the headers that say who answers.
func (s *web) sign(w http.ResponseWriter) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set(prober.AnsweredByHeader, s.name)
	if s.close {
		header.Set("Connection", "close")
	}
}
