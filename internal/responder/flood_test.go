package responder_test

import (
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
)

func TestAFloodOfOneServiceLeavesRoomForTheOthers(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 2, shop(), func(o *responder.Options) {
		o.MaxConnectionsPerListener, o.FirstByteTimeout = 3, time.Hour // So that no silent client is displaced.
	})
	for range 3 {
		w.dial(0)
	}
	g.Eventually(w.metrics, timeout).Should(ContainSubstring("critical_service_responder_connections_open 3"))
	_, err := w.dial(0).Read(make([]byte, 1))
	g.Expect(err).To(MatchError(io.EOF), "refused at once")
	g.Expect(w.text(1)).To(ContainSubstring("503"))
	g.Expect(w.metrics()).To(ContainSubstring("critical_service_responder_connections_rejected_total 1"))
}

// lasting lets silent clients stay.
func lasting(o *responder.Options) { o.FirstByteTimeout, o.ConnectionTimeout = time.Hour, time.Hour }

// TestAFloodOfSilentClientsKeepsOutNoOtherService is about more connections than may
// be open in all, to the ports of one Service.
func TestAFloodOfSilentClientsKeepsOutNoOtherService(t *testing.T) {
	g := NewWithT(t)
	const ports, clients, probes = 5, 2500, 520
	table := []listener.Listener{{Port: ports, Service: "shop", Page: says("The shop is closed.")}}
	for port := range int32(ports) {
		table = append(table, listener.Listener{Port: port, Service: "flooded", ServicePort: port + 1, Page: says("closed")})
	}
	w := start(t, ports+1, table, lasting)
	for i := range int32(clients) {
		w.dial(i % ports)
	}
	g.Eventually(w.metrics, timeout).Should(ContainSubstring("critical_service_responder_connections_open 1024\n"))
	for range probes {
		g.Expect(w.text(ports)).To(ContainSubstring("The shop is closed."))
	}
}

func TestOneAddressKeepsOutNoOther(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), func(o *responder.Options) {
		lasting(o)
		o.MaxConnections = 20
	})
	for range 20 {
		w.dial(0)
	}
	g.Eventually(w.metrics, timeout).Should(ContainSubstring("critical_service_responder_connections_open 20\n"))
	other := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	client := &http.Client{Transport: &http.Transport{DialContext: other.DialContext, DisableKeepAlives: true}, Timeout: timeout}
	for range 50 {
		answer, err := client.Get(w.url(0, "/"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.StatusCode).To(Equal(http.StatusServiceUnavailable))
		g.Expect(answer.Body.Close()).To(Succeed())
	}
}
