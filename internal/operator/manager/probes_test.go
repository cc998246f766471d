package manager

import (
	"errors"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// Every Pod of the cluster can do this, and the kubelet ends a process that does not answer.
func TestProbesAreAnsweredBesideClientsThatStay(t *testing.T) {
	g := NewWithT(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	var isReady atomic.Bool
	server := probeServer(map[string]healthz.Checker{"caches": func(*http.Request) error {
		if !isReady.Load() {
			return errors.New("not yet")
		}
		return nil
	}})
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		g.Expect(server.Close()).To(Succeed())
		g.Expect(<-ended).To(MatchError(http.ErrServerClosed))
	})
	const clients = 500
	closed := make(chan struct{}, clients)
	for range clients {
		conn, err := net.Dial("tcp", listener.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = conn.Close() })
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\nX: x") // It may be cut off.
		go func() {
			_, _ = io.Copy(io.Discard, conn)
			closed <- struct{}{}
		}()
	}
	g.Eventually(closed).WithTimeout(10*time.Second).Should(HaveLen(clients-probeConnections), "they give way to those that come")
	status := func(path string) (int, error) {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
		answer, err := client.Get("http://" + listener.Addr().String() + path)
		if err != nil {
			return 0, err
		}
		return answer.StatusCode, answer.Body.Close()
	}
	g.Expect(status("/healthz")).To(Equal(http.StatusOK))
	g.Expect(status("/healthz/ping")).To(Equal(http.StatusOK))
	g.Expect(status("/readyz")).To(Equal(http.StatusInternalServerError))
	isReady.Store(true)
	g.Expect(status("/readyz")).To(Equal(http.StatusOK))
}
