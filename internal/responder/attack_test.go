package responder_test

import (
	"cmp"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
)

// beginHTTP2 is how a client of HTTP/2, and so of gRPC, begins.
const beginHTTP2 = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"

// slow is a client that begins, and then sends a little now and then; or nothing more, as one whose host is gone.
type slow struct {
	to    listener.Listener
	says  string
	drips string
	// every is how long it waits before each drip; 20 ms without one.
	every time.Duration
}

var slowClients = map[string]slow{
	"HTTP/1.1, in the request line": {says: "GET /", drips: "x"},
	"HTTP/1.1, in the header":       {says: "GET / HTTP/1.1\r\n", drips: "X: x\r\n"},
	"HTTP/1.1, in a body":           {says: "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n", drips: "x"},
	"HTTP/1.1, in a chunk":          {says: "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n", drips: "x"},
	"HTTP/2, in a header":           {says: beginHTTP2 + "\x00\x40\x00\x01\x04\x00\x00\x00\x01", drips: "x"},
	"HTTP/2, in a header of frames": {says: beginHTTP2 + "\x00\x00\x00\x01\x00\x00\x00\x00\x01", drips: "\x00\x00\x01\x09\x00\x00\x00\x00\x01x"},
	"gRPC, which pings":             {to: listener.Listener{AppProtocol: "grpc"}, says: beginHTTP2, drips: "\x00\x00\x08\x06\x00\x00\x00\x00\x00ping-..."},
	"gRPC, silent":                  {to: listener.Listener{AppProtocol: "grpc"}, says: beginHTTP2},
	"TLS":                           {says: "\x16\x03\x01\x40\x00\x01", drips: "\x00"},
	"PostgreSQL":                    {to: listener.Listener{AppProtocol: "postgresql"}, says: "\x00\x00\x27\x10\x00\x03\x00\x00", drips: "x"},
	"PostgreSQL, silent":            {to: listener.Listener{AppProtocol: "postgresql"}},
	"MySQL, once it is greeted":     {to: listener.Listener{ServicePort: 3306}, drips: "x", every: 300 * time.Millisecond},
	"MySQL, silent":                 {to: listener.Listener{ServicePort: 3306}},
	"Redis, in a line":              {to: listener.Listener{AppProtocol: "redis"}, says: "SUBSCRIBE ", drips: "x"},
	"Redis, in an argument":         {to: listener.Listener{AppProtocol: "redis"}, says: "*1\r\n$1000000\r\n", drips: "x"},
	"Redis, command after command":  {to: listener.Listener{AppProtocol: "redis"}, says: "PING\r\n", drips: "PING\r\n"},
	"Redis, silent":                 {to: listener.Listener{AppProtocol: "redis"}},
	"MongoDB":                       {says: "\x1a\x00\x00", drips: "\x00"},
	"the PROXY protocol":            {says: "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x07\xff", drips: "x"},
	"an unknown protocol":           {says: "\x00\x01\x02", drips: "\x03"},
	"no protocol: it is silent":     {},
}

// drip sends what a client says, and the rest until the connection ends.
func (c slow) drip(conn net.Conn) {
	_, err := io.WriteString(conn, c.says)
	if c.drips == "" {
		return
	}
	ticker := time.NewTicker(cmp.Or(c.every, 20*time.Millisecond))
	defer ticker.Stop()
	for err == nil {
		<-ticker.C
		_, err = io.WriteString(conn, c.drips)
	}
}

// As many slow clients as a listener may have hold its places: clients of other Services, and those at other addresses,
// are answered all the same, and in time the places are free.
func TestASlowClientHoldsNoPlaceInAnyProtocol(t *testing.T) {
	const perListener = 4
	const other = 0
	table, ports := []listener.Listener{{Port: other, Service: "other", Page: says("The shop is closed.")}}, map[string]int32{}
	last := int32(other)
	for sentence, client := range slowClients {
		last++
		ports[sentence] = last
		to := client.to
		to.Port, to.Service, to.Page = last, "slow-"+sentence, says("closed")
		table = append(table, to)
	}
	w := start(t, last+1, table, func(o *responder.Options) {
		hasty(o)
		// They are those of the others as well, which may get no processor for a while.
		o.FirstByteTimeout, o.HeaderTimeout, o.ConnectionTimeout = 2*time.Second, time.Second, 2*time.Second
		o.MaxConnectionsPerListener = perListener
	})
	t.Run("all at once", func(t *testing.T) {
		for sentence, client := range slowClients {
			t.Run(sentence, func(t *testing.T) {
				t.Parallel()
				g := NewWithT(t)
				held := make([]*net.TCPConn, perListener)
				for i := range held {
					held[i] = w.dial(ports[sentence])
					go client.drip(held[i])
				}
				g.Expect(w.text(other)).To(ContainSubstring("The shop is closed."), "another Service")
				g.Expect(w.statusFrom(t.Context(), net.IPv4(127, 0, 0, 2), ports[sentence])).To(Equal(http.StatusServiceUnavailable), "another client")
				for _, c := range held {
					g.Expect(ended(c)).To(Succeed())
				}
			})
		}
	})
	NewWithT(t).Eventually(w.metrics, timeout).Should(And(
		ContainSubstring("critical_service_responder_connections_open 0\n"), ContainSubstring("critical_service_responder_panics_total 0\n")))
}

// statusFrom is what a client of HTTP at an address is answered.
func (w *world) statusFrom(ctx context.Context, address net.IP, n int32) (int, error) {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: address}}
	client := &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}, Timeout: timeout}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url(n, "/"), http.NoBody)
	if err != nil {
		return 0, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// Clients that go on asking, and take no answer: they hold their places no longer than others.
func TestAClientThatTakesNoAnswerHoldsNoPlace(t *testing.T) {
	for sentence, c := range map[string]struct {
		to          listener.Listener
		first, more string
	}{
		"HTTP/1.1": {more: "GET / HTTP/1.1\r\nHost: a\r\n\r\n"},
		"HTTP/2":   {first: beginHTTP2, more: "\x00\x00\x08\x06\x00\x00\x00\x00\x00ping-..."},
		"Redis":    {to: listener.Listener{AppProtocol: "redis"}, more: "PING\r\n"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			c.to.Service, c.to.Page = "shop", says("closed")
			w := start(t, 1, []listener.Listener{c.to}, hasty)
			for range 4 {
				conn := w.dial(0)
				g.Expect(conn.SetReadBuffer(1)).To(Succeed())
				go func() {
					_, err := io.WriteString(conn, c.first)
					for err == nil {
						_, err = io.WriteString(conn, strings.Repeat(c.more, 100))
					}
				}()
			}
			g.Eventually(w.metrics, timeout).Should(ContainSubstring(`critical_service_responder_connections_total{`), "they have come")
			g.Eventually(w.metrics, timeout).Should(ContainSubstring("critical_service_responder_connections_open 0\n"))
		})
	}
}
