package stories_test

import (
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/clientcmd"
)

// gate stands between an operator and the API server, and can be shut: then the
// API server is away for this operator, as in a restart or a broken network.
type gate struct {
	listener net.Listener
	server   string

	mu    sync.Mutex
	open  bool
	conns []net.Conn
	// flows is held for reading while bytes are passed on.
	flows sync.RWMutex
}

// newGate is a gate that is shut, and a kubeconfig of the operator that leads
// through it.
func newGate(t *testing.T) (*gate, []byte) {
	t.Helper()
	g := NewWithT(t)
	config, err := clientcmd.Load(cluster.OperatorKubeconfig)
	g.Expect(err).NotTo(HaveOccurred())
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })

	through := &gate{listener: listener}
	for _, known := range config.Clusters {
		address, err := url.Parse(known.Server)
		g.Expect(err).NotTo(HaveOccurred())
		through.server, address.Host = address.Host, listener.Addr().String()
		known.Server = address.String()
	}
	data, err := clientcmd.Write(*config)
	g.Expect(err).NotTo(HaveOccurred())
	go through.serve()
	return through, data
}

func (g *gate) serve() {
	for {
		in, err := g.listener.Accept()
		if err != nil {
			return // The test is over.
		}
		g.pass(in)
	}
}

func (g *gate) pass(in net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		_ = in.Close()
		return
	}
	out, err := net.Dial("tcp", g.server)
	if err != nil {
		_ = in.Close()
		return
	}
	g.conns = append(g.conns, in, out)
	for _, pair := range [][2]net.Conn{{in, out}, {out, in}} {
		go func() {
			_, _ = io.Copy(flowing{pair[0], &g.flows}, pair[1]) // It ends when either side does.
			_ = pair[0].Close()
		}()
	}
}

// set opens or shuts the gate; shut, it also breaks what is connected.
func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = open
	if open {
		return
	}
	for _, conn := range g.conns {
		_ = conn.Close()
	}
	g.conns = nil
}

// flowing passes on what is written, as long as that flows.
type flowing struct {
	io.Writer
	flows *sync.RWMutex
}

func (f flowing) Write(data []byte) (int, error) {
	f.flows.RLock()
	defer f.flows.RUnlock()
	return f.Writer.Write(data)
}

// stall lets nothing through an open gate, and breaks no connection, until flow.
func (g *gate) stall() { g.flows.Lock() }
func (g *gate) flow()  { g.flows.Unlock() }

// An operator without an API server waits for it, at its start and in mid-life, instead
// of ending again and again until its kubelet lets it wait for minutes. And an API
// server that comes back finds the fallback as it was.
func TestTheAPIServerIsAwayInMidOutage(t *testing.T) {
	w := alone(t)
	through, kubeconfig := newGate(t)

	operator := startReplicaWith(t, "only", kubeconfig)
	w.Eventually(operator.output.String).Should(ContainSubstring("the API server does not answer"))
	through.set(true)
	w.Eventually(get(operator.health, "/readyz")).Should(HavePrefix("200"))

	policy := w.policy("shop")
	service, fallback := w.covered("web")
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Covered/FallbackServing"))

	through.set(false)
	w.Eventually(operator.output.String).Should(ContainSubstring("leading on until it does"), "it must keep the lease that it cannot renew")
	w.Eventually(get(operator.health, "/healthz")).Should(HavePrefix("200"))
	through.set(true)

	w.Expect(w.fallback(service).UID).To(Equal(fallback.UID))
	w.MakeReady(w.Pod("real", service))
	w.PublishEndpoints(service)
	w.gone(service)
	w.Eventually(w.stateOf(policy, service)).Should(Equal("Armed/EndpointsReady"))
}
