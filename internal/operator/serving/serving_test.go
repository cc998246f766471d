package serving

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/cert"

	"github.com/critical-service/operator/test/ports"
)

// run serves a handler until the test ends, or until it is stopped, which returns
// how it ended.
func run(t *testing.T, handler http.Handler) (address string, stop func() error) {
	t.Helper()
	g := NewWithT(t)
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(certificate, key)
	g.Expect(err).NotTo(HaveOccurred())
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	TLS(config)
	address = ports.Free(t)

	ctx, cancel := context.WithCancel(t.Context())
	listens, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- Run(ctx, address, config, handler, func() { close(listens) }) }()
	g.Eventually(listens).Should(BeClosed())
	return address, func() error {
		cancel()
		return <-ended
	}
}

// dial opens a connection over TLS.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	opened, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It was made a moment ago.
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = opened.Close() })
	return opened
}

// The API server opens connections that it does not use at once.
func TestAnUnusedConnectionDelaysNoStop(t *testing.T) {
	g := NewWithT(t)
	address, stop := run(t, http.NotFoundHandler())
	dial(t, address)
	ended := make(chan error)
	go func() { ended <- stop() }()
	// net/http would wait for five seconds.
	g.Eventually(ended, 4*time.Second).Should(Receive(BeNil()))
}

// Every Pod of the cluster can do this, without credentials.
func TestSlowClientsLeaveOrdinaryRequestsAnswered(t *testing.T) {
	g := NewWithT(t)
	const most = 4 << 20
	bounds, _ := Bounded(Limits{Bytes: most, Values: 1 << 16}, http.HandlerFunc(echo)).(*bounded)
	address, _ := run(t, bounds)
	for range bodiesAtOnce {
		_, err := io.WriteString(dial(t, address), beginning(most)+strings.Repeat(" ", most-1))
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Eventually(bounds.bodies.inMemory).Should(BeEquivalentTo(bodiesAtOnce * (most - 1)))
	ask := func() {
		// It opens a connection of its own, and waits for none of the others to end.
		transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // See above.
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport, Timeout: readTimeout / 2}).Post("https://"+address, "application/json", strings.NewReader(strings.Repeat("x", 2000)))
		g.Expect(err).NotTo(HaveOccurred())
		defer response.Body.Close()
		g.Expect(response.StatusCode).To(Equal(http.StatusTeapot))
	}
	for range 20 {
		ask()
	}
	for range mostConnections + 44 {
		idle, err := net.Dial("tcp", address)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = idle.Close() })
	}
	for range 20 {
		ask()
	}
}
