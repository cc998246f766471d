package responder_test

import (
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// Of one round of the benchmark: requests for each server, by as many clients at once.
const (
	roundRequests = 2000
	roundClients  = 16
)

// BenchmarkThroughput compares the responder with a plain server of package net/http
// that answers the same bytes on the same path. Each request has a connection of its
// own. The rounds of both alternate, so that what else the machine does slows both.
func BenchmarkThroughput(b *testing.B) {
	w := start(b, 1, shop(), nil)
	plain := plainServer(b, w)
	var ours, theirs time.Duration
	round(b, w.address(0))
	round(b, plain)
	for b.Loop() {
		ours += round(b, w.address(0))
		theirs += round(b, plain)
	}
	requests := float64(b.N) * roundRequests
	b.ReportMetric(requests/ours.Seconds(), "requests/s")
	b.ReportMetric(requests/theirs.Seconds(), "nethttp-requests/s")
	b.ReportMetric(theirs.Seconds()/ours.Seconds(), "ratio")
}

// plainServer answers what the responder answers, and gives its address.
func plainServer(b *testing.B, w *world) string {
	b.Helper()
	g := NewWithT(b)
	_, body, answer, err := get(b.Context(), w.url(0, "/"))
	g.Expect(err).NotTo(HaveOccurred())
	answer.Header.Del("Date")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	server := &http.Server{
		ReadHeaderTimeout: timeout,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for name, values := range answer.Header {
				w.Header()[name] = values
			}
			w.Header().Set("Connection", "close")
			w.WriteHeader(answer.StatusCode)
			_, _ = io.WriteString(w, body) // The client may be gone.
		}),
	}
	go server.Serve(l) //nolint:errcheck // It ends with the benchmark.
	b.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// round lets all clients ask a server, and returns how long that took.
func round(b *testing.B, address string) time.Duration {
	b.Helper()
	begun := time.Now()
	var clients sync.WaitGroup
	for range roundClients {
		clients.Go(func() {
			for range roundRequests / roundClients {
				ask(b, address)
			}
		})
	}
	clients.Wait()
	return time.Since(begun)
}

// ask sends a request and reads to the end.
func ask(b *testing.B, address string) {
	c, err := net.Dial("tcp", address)
	if err != nil {
		b.Error(err)
		return
	}
	defer c.Close()
	_, err = io.WriteString(c, "GET / HTTP/1.1\r\nHost: shop\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	if err != nil {
		b.Error(err)
	}
	if n, err := io.Copy(io.Discard, c); err != nil || n == 0 {
		b.Errorf("%d bytes: %v", n, err)
	}
}
