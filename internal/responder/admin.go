package responder

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/critical-service/operator/internal/connections"
)

// Limits of requests to the admin port. Only the kubelet and a Prometheus should send
// them, and every Pod of the cluster may: without a bound, 10,000 clients took more memory
// than the container may have.
const (
	adminTimeout     = 10 * time.Second
	adminHeaderBytes = 8 << 10
	// adminConnections leaves half of the spare files to others.
	adminConnections = spareFiles / 2
)

// state is what /readyz says.
type state struct{ text atomic.Pointer[string] }

// ready is the only state in which /readyz succeeds.
const ready = "ok"

func (s *state) set(text string) { s.text.Store(&text) }

func adminHandler(readiness *state, m *metrics) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		text := *readiness.text.Load()
		if text != ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		fmt.Fprintln(w, text)
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		MaxRequestsInFlight: 4, DisableCompression: true, EnableOpenMetrics: true,
	}))
	return mux
}

func adminServer(readiness *state, m *metrics) *http.Server {
	server := &http.Server{
		Handler:           adminHandler(readiness, m),
		ReadHeaderTimeout: adminTimeout,
		ReadTimeout:       adminTimeout,
		WriteTimeout:      adminTimeout,
		IdleTimeout:       adminTimeout,
		MaxHeaderBytes:    adminHeaderBytes,
	}
	connections.Limit(server, adminConnections)
	return server
}
