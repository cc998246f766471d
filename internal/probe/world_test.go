package probe_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
	"github.com/critical-service/operator/test/ports"
)

const timeout = 30 * time.Second

// startResponder runs the real responder with a port for each listener, and gives
// their addresses and a function that reads its metrics.
func startResponder(t *testing.T, listeners []listener.Listener) (addresses []string, metrics func() string) {
	t.Helper()
	g := NewWithT(t)
	taken := ports.Range(t, int32(len(listeners)+1)) //nolint:gosec // There are few.
	admin := fmt.Sprintf("127.0.0.1:%d", taken.Last)
	taken.Last--
	for i := range listeners {
		listeners[i].Port = taken.First + int32(i)
		listeners[i].Page = &criticalv2.PageFallback{StatusCode: 503, RetryAfterSeconds: new(int32(7)), Message: "Back soon."}
		addresses = append(addresses, fmt.Sprintf("127.0.0.1:%d", listeners[i].Port))
	}
	table, err := (&listener.Table{Listeners: listeners}).Encode()
	g.Expect(err).NotTo(HaveOccurred())
	folder := t.TempDir()
	file := filepath.Join(folder, listener.Key)
	g.Expect(os.WriteFile(file, table, 0o600)).To(Succeed())

	options := responder.Bind(pflag.NewFlagSet("", pflag.PanicOnError))
	options.Listeners, options.BindAddress, options.AdminBindAddress = taken.String(), "127.0.0.1", admin
	options.Table, options.Content, options.Drain, options.LogLevel = file, folder, 0, "error"
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- responder.Run(ctx, *options) }()
	t.Cleanup(func() {
		cancel()
		g.Eventually(done, timeout).Should(Receive(BeNil()))
	})
	get := func(path string) (int, string) {
		answer, err := http.Get("http://" + admin + path)
		if err != nil {
			return 0, err.Error()
		}
		defer answer.Body.Close()
		text, _ := io.ReadAll(answer.Body)
		return answer.StatusCode, string(text)
	}
	g.Eventually(func() int { status, _ := get("/readyz"); return status }, timeout).Should(Equal(http.StatusOK))
	return addresses, func() string { _, text := get("/metrics"); return text }
}

// serve lets each connection to a server be handled, and gives its address. The
// connection is closed after that.
func serve(t *testing.T, handle func(conn *net.TCPConn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(conn.(*net.TCPConn))
			}()
		}
	}()
	return l.Addr().String()
}

// saying is a server that says something at once, and reads to the client's end.
func saying(text string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// hearing is a server that says something when it has heard something.
func hearing(text string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
		_ = conn.CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
	}
}

// stalling is a server that says something when it has heard something, and then
// no more.
func stalling(text string) func(*net.TCPConn) {
	return func(conn *net.TCPConn) {
		_, _ = conn.Read(make([]byte, 4096))
		_, _ = io.WriteString(conn, text)
		_, _ = io.Copy(io.Discard, conn)
	}
}

// resetting is a server that resets as soon as it has heard something.
func resetting(conn *net.TCPConn) {
	_, _ = conn.Read(make([]byte, 1))
	_ = conn.SetLinger(0)
}
