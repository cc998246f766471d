package prober

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestConnectionsComeFromThePorts(t *testing.T) {
	for sentence, ports := range map[string]Ports{"the low ones": LowPorts, "the high ones": HighPorts} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			ctx, enough := context.WithCancel(t.Context())
			server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				from := netip.MustParseAddrPort(r.RemoteAddr).Port()
				if from < ports.First || from > ports.Last {
					t.Errorf("a request from port %d", from)
				}
			}))
			defer server.Close()
			asked := 0
			prober := Prober{URL: server.URL, Rate: 1000, Timeout: 10 * time.Second, Control: ports.Bind}
			g.Expect(prober.Run(ctx, func(result Result) {
				g.Expect(result.Answered()).To(BeTrue(), result.Detail)
				asked++
				if asked == 20 {
					enough()
				}
			})).To(Succeed())
		})
	}
}

func TestAFreshPortDoesNotComeBack(t *testing.T) {
	const connections, atOnce = 400, 150
	g := NewWithT(t)
	ctx, enough := context.WithCancel(t.Context())
	var mutex sync.Mutex
	came := map[uint16]int{}
	total := 0
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		total++
		port := netip.MustParseAddrPort(r.RemoteAddr).Port()
		if before := came[port]; before != 0 && total-before > atOnce {
			t.Errorf("port %d comes back after %d connections", port, total-before)
		}
		came[port] = total
		if total == connections {
			enough()
		}
	}))
	defer server.Close()
	prober := Prober{URL: server.URL, Rate: 1000, Timeout: 10 * time.Second, Control: Fresh()}
	g.Expect(prober.Run(ctx, func(result Result) {
		g.Expect(result.Answered()).To(BeTrue(), result.Detail)
	})).To(Succeed())
}
