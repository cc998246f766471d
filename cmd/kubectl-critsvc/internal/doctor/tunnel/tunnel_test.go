package tunnel

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// node is an API server that speaks SPDY only, and a Pod behind it: its port 80 sends
// back what it gets, and nothing listens on the others.
type node struct {
	mu       sync.Mutex
	failures map[string]httpstream.Stream
}

func (n *node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/api/v1/namespaces/shop/pods/page/portforward" {
		http.Error(w, "SPDY only", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{portforward.PortForwardProtocolV1Name}); err != nil {
		return
	}
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(stream httpstream.Stream, replied <-chan struct{}) error {
		request := stream.Headers().Get(corev1.PortForwardRequestIDHeader)
		n.mu.Lock()
		defer n.mu.Unlock()
		if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
			n.failures[request] = stream
			return nil
		}
		failures := n.failures[request] // The client makes it first.
		go func() {
			<-replied
			serve(stream, failures)
		}()
		return nil
	})
	if conn == nil {
		return
	}
	<-conn.CloseChan()
}

func serve(data, failures httpstream.Stream) {
	if port := data.Headers().Get(corev1.PortHeader); port != "80" {
		fmt.Fprintf(failures, "nothing listens on port %s", port)
		_ = failures.Close()
		_ = data.Close()
		return
	}
	_, _ = io.Copy(data, data)
	_ = failures.Close()
}

func TestConnectionsGoThroughTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(&node{failures: map[string]httpstream.Stream{}})
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}

	_, err := Open(config, types.NamespacedName{Namespace: "shop", Name: "missing"})
	g.Expect(err).To(MatchError(ContainSubstring("forward ports of Pod shop/missing")))

	through, err := Open(config, types.NamespacedName{Namespace: "shop", Name: "page"})
	g.Expect(err).NotTo(HaveOccurred())
	defer through.Close()
	for i := range 3 { // They share the tunnel.
		conn, err := through.Dial(t.Context(), 80)
		g.Expect(err).NotTo(HaveOccurred())
		_, err = fmt.Fprintf(conn, "hello %d\n", i)
		g.Expect(err).NotTo(HaveOccurred())
		line, err := bufio.NewReader(conn).ReadString('\n')
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(line).To(Equal(fmt.Sprintf("hello %d\n", i)))
		g.Expect(conn.Refused(t.Context())).To(BeEmpty())
	}

	conn, err := through.Dial(t.Context(), 81)
	g.Expect(err).NotTo(HaveOccurred(), "only the node knows who listens")
	_, err = io.ReadAll(conn)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(conn.Refused(t.Context())).To(Equal("nothing listens on port 81"))
}
