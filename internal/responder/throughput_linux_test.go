package responder_test

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"
)

// Of one round of the benchmark: requests for each server, by as many clients at once.
const (
	roundRequests = 2000
	roundClients  = 16
)

// BenchmarkThroughput compares the responder with a plain server of package net/http
// that answers the same bytes on the same path. Each request has a connection of its
// own. The rounds of both alternate, so that what else the machine does slows both. The
// ratio of the processor's time, that of the clients included, is less subject to it
// than that of the time on the clock.
func BenchmarkThroughput(b *testing.B) {
	for sentence, slow := range map[string]int{"alone": 0, "beside 400 slow clients of each": 400} {
		b.Run(sentence, func(b *testing.B) {
			w := start(b, 1, shop(), nil)
			plain := plainServer(b, w)
			var ours, theirs effort
			for range slow {
				go dawdle(b.Context(), w.address(0))
				go dawdle(b.Context(), plain)
			}
			for b.Loop() {
				ours.add(b, w.address(0))
				theirs.add(b, plain)
			}
			requests := float64(b.N) * roundRequests
			b.ReportMetric(requests/ours.clock.Seconds(), "requests/s")
			b.ReportMetric(requests/theirs.clock.Seconds(), "nethttp-requests/s")
			b.ReportMetric(theirs.clock.Seconds()/ours.clock.Seconds(), "ratio")
			b.ReportMetric(theirs.processor.Seconds()/ours.processor.Seconds(), "cpu-ratio")
		})
	}
}

// dawdle begins a request and does not end it, again and again.
func dawdle(ctx context.Context, address string) {
	for ctx.Err() == nil {
		c, err := net.Dial("tcp", address)
		if err != nil {
			return // The server has ended.
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: shop\r\n")
		_, _ = io.Copy(io.Discard, c) // Until the server has had enough of it.
		_ = c.Close()
		stop()
	}
}

// effort is what requests took.
type effort struct{ clock, processor time.Duration }

// add lets all clients ask a server.
func (e *effort) add(b *testing.B, address string) {
	b.Helper()
	begun, used := time.Now(), processorTime(b)
	round(b, address)
	e.clock += time.Since(begun)
	e.processor += processorTime(b) - used
}

// processorTime is what this process has used.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	usage := unix.Rusage{}
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
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
			maps.Copy(w.Header(), answer.Header)
			w.Header().Set("Connection", "close")
			w.WriteHeader(answer.StatusCode)
			_, _ = io.WriteString(w, body) // The client may be gone.
		}),
	}
	go server.Serve(l) //nolint:errcheck // It ends with the benchmark.
	b.Cleanup(func() { _ = server.Close() })
	return l.Addr().String()
}

// round lets all clients ask a server.
func round(b *testing.B, address string) {
	b.Helper()
	var clients sync.WaitGroup
	for range roundClients {
		clients.Go(func() {
			for range roundRequests / roundClients {
				ask(b, address)
			}
		})
	}
	clients.Wait()
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
