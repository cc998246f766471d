package serving

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/util/cert"
)

// The API server opens connections that it does not use at once.
func TestAnUnusedConnectionDelaysNoStop(t *testing.T) {
	g := NewWithT(t)
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	g.Expect(err).NotTo(HaveOccurred())
	pair, err := tls.X509KeyPair(certificate, key)
	g.Expect(err).NotTo(HaveOccurred())
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	TLS(config)
	free, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	address := free.Addr().String()
	g.Expect(free.Close()).To(Succeed())

	ctx, cancel := context.WithCancel(t.Context())
	listens, ended := make(chan struct{}), make(chan error)
	go func() { ended <- Run(ctx, address, config, http.NotFoundHandler(), func() { close(listens) }) }()
	g.Eventually(listens).Should(BeClosed())
	connection, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // It was made a moment ago.
	g.Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	cancel()
	g.Eventually(ended, 2*shutdownTimeout).Should(Receive(BeNil()))
}
