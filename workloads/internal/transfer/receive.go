package transfer

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/critical-service/operator/internal/etcd/snapshot"
	"github.com/critical-service/operator/workloads/internal/transfer/result"
)

const (
	// Path is where a snapshot is sent to.
	Path = "/snapshot"
	// headerTimeout and idleTimeout bound how long a client may say nothing.
	headerTimeout, idleTimeout = 10 * time.Second, time.Minute
	// totalTimeout bounds how long one snapshot may take: a client that sends a byte now and then
	// must not keep others from sending theirs.
	totalTimeout = time.Hour
	// maxHeader is how many bytes of a header are read.
	maxHeader = 16 << 10
)

// receiver takes one snapshot.
type receiver struct {
	target Target
	most   int64
	// longest is how long one snapshot may take.
	longest time.Duration
	// busy is held by the one request that writes.
	busy sync.Mutex
	done chan *result.Result
}

// Receive waits until a snapshot of at most so many bytes has been sent by POST, and is whole. What
// is wrong with one its sender gets to know, and may send another.
func Receive(ctx context.Context, at net.Listener, certificates *tls.Config, target Target, most int64) (*result.Result, error) {
	r := &receiver{target: target, most: most, longest: totalTimeout, done: make(chan *result.Result, 1)}
	mux := http.NewServeMux()
	mux.Handle("POST "+Path, r)
	server := &http.Server{Handler: mux, TLSConfig: certificates, ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() {
		if certificates != nil {
			ended <- server.ServeTLS(at, "", "")
			return
		}
		ended <- server.Serve(at)
	}()
	select {
	case err := <-ended:
		return nil, err
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), server.Close())
	case received := <-r.done:
		// The sender gets its answer first.
		last, cancel := context.WithTimeout(ctx, headerTimeout)
		defer cancel()
		return received, server.Shutdown(last)
	}
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if !r.busy.TryLock() {
		http.Error(w, "another snapshot is being received: try again when it has ended", http.StatusConflict)
		return
	}
	// After a snapshot that is whole no other one is taken.
	received, err := r.target.write(&patient{http.MaxBytesReader(w, request.Body, r.most), http.NewResponseController(w), time.Now().Add(r.longest)}, 0)
	if err != nil {
		r.busy.Unlock()
		http.Error(w, err.Error(), statusOf(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(received) // The snapshot is there, whether the sender learns it or not.
	r.done <- received
}

func statusOf(err error) int {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return http.StatusRequestTimeout
	case errors.Is(err, syscall.ENOSPC):
		return http.StatusInsufficientStorage
	case snapshot.IsVerdict(err):
		return http.StatusBadRequest
	default:
		return http.StatusInternalServerError
	}
}

// patient reads as long as something comes, until it ends.
type patient struct {
	io.Reader
	control *http.ResponseController
	ends    time.Time
}

func (p *patient) Read(into []byte) (int, error) {
	deadline := time.Now().Add(idleTimeout)
	if p.ends.Before(deadline) {
		deadline = p.ends
	}
	if err := p.control.SetReadDeadline(deadline); err != nil {
		return 0, fmt.Errorf("bound how long the sender may say nothing: %w", err)
	}
	return p.Reader.Read(into)
}
