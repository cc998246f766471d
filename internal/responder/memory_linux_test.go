package responder_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/test/cgroup"
	"github.com/critical-service/operator/test/ports"
)

// Limits of the responder of 50 Services.
const (
	mostBinary = 13_200_000
	// mostOwn is the memory that a process has for itself alone (RssAnon).
	mostOwn = 8 << 20
	// mostResident is that and the pages of the executable that are mapped (VmRSS),
	// which all responders of a node share.
	mostResident = 20 << 20
)

// TestTheResponderIsSmall runs the binary that ships, with 50 Services on 64
// listeners.
func TestTheResponderIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	g := NewWithT(t)
	binary := built(t)
	info, err := os.Stat(binary)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(info.Size()).To(BeNumerically("<=", mostBinary))

	w, process := fifty(t, binary)
	isSmall := func(when string) {
		own, resident := cgroup.Memory(process, "RssAnon:"), cgroup.Memory(process, "VmRSS:")
		t.Logf("%s: %d KiB of its own, %d KiB resident", when, own>>10, resident>>10)
		g.Expect(own).To(BeNumerically("<=", mostOwn), when)
		g.Expect(resident).To(BeNumerically("<=", mostResident), when)
	}
	isSmall("at rest")
	for i := range int32(200) {
		// A client of a port of MySQL that gets no processor for a while is greeted in MySQL.
		g.Eventually(func() string { return w.text(i % 50) }).Should(ContainSubstring("closed"))
	}
	isSmall("after it answered for every Service")

	g.Expect(process.Process.Signal(syscall.SIGTERM)).To(Succeed())
	g.Expect(process.Wait()).To(Succeed(), "it ends well")
}

// mostUnderAttack is the memory limit of the container, and softLimit its
// GOMEMLIMIT.
const (
	mostUnderAttack = 128 << 20
	softLimit       = "96MiB"
)

// TestTheResponderUnderAttackFitsItsPod takes all the memory that clients can
// take of the binary that ships, with the limits that it has by default.
func TestTheResponderUnderAttackFitsItsPod(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	binary := built(t)
	// By far most of what may be open at once: 128 of HTTP/2, 512 of one listener,
	// and 1024 in all, of which some are left to those who behave.
	const ofHTTP2, ofOne, ofOther = 128, 512, 380
	longLine := "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 8<<10)
	longStreams := streams(t, hpack.HeaderField{Name: "x", Value: strings.Repeat("~", 7<<10)})
	// The client takes no answer to them, and so they are kept for it.
	pings := strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x00ping-...", 9_900)
	for sentence, c := range map[string]struct{ http1, http2, then string }{
		"with long lines":                 {longLine, longStreams, ""},
		"with long lines, and then pings": {longLine, longStreams, pings},
		"with many short lines": {
			"GET / HTTP/1.1\r\nHost: a\r\n" + lines(120),
			streams(t, fields(200)...),
			pings,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, memory := NewWithT(t), 0
			// On a machine that is busy, the first may have to leave before the last has come.
			g.Eventually(func(g Gomega) {
				w, process := fifty(t, binary)
				defer func() {
					memory = max(memory, cgroup.Peak(process))
					_ = process.Process.Kill() // If it has ended, its memory was no size.
				}()
				send := func(conn *net.TCPConn, what string) { _, _ = io.WriteString(conn, what) } // It may be cut off.
				attack := func(n int32, times int, opening string) []*net.TCPConn {
					conns := make([]*net.TCPConn, times)
					for i := range conns {
						conns[i] = w.dial(n)
						g.Expect(conns[i].SetReadBuffer(1)).To(Succeed())
						send(conns[i], opening)
					}
					return conns
				}
				taken := func(service, count int, protocol string) string {
					return fmt.Sprintf(`connections_total{port="80",protocol=%q,service="service-%d"} %d`, protocol, service, count)
				}
				ofFirst := attack(0, ofHTTP2, c.http2)
				g.Eventually(w.metrics, timeout).Should(ContainSubstring(taken(0, ofHTTP2, "http2")))
				attack(3, 1, c.http2)
				g.Eventually(w.metrics, timeout).Should(ContainSubstring("connections_rejected_total 1\n"), "one more of HTTP/2, of any listener")
				attack(1, ofOne, c.http1)
				g.Eventually(w.metrics, timeout).Should(ContainSubstring(taken(1, ofOne, "http1")))
				attack(1, 1, c.http1)
				g.Eventually(w.metrics, timeout).Should(ContainSubstring("connections_rejected_total 2\n"), "one more of this listener")
				attack(2, ofOther, c.http1)
				g.Eventually(w.metrics, timeout).Should(ContainSubstring(taken(2, ofOther, "http1")))
				g.Eventually(w.metrics, timeout).Should(ContainSubstring("connections_open %d\n", ofHTTP2+ofOne+ofOther), "all are still open")
				g.Expect(w.text(3)).To(ContainSubstring("closed"), "others are answered")
				for _, conn := range ofFirst {
					go send(conn, c.then)
				}
				g.Eventually(w.metrics, timeOfCrowd).Should(ContainSubstring("connections_open 0\n"), "none stays")
			}, 5*timeOfCrowd).Should(Succeed())
			t.Logf("%d MiB at most", memory>>20)
			g.Expect(memory).To(BeNumerically("<", mostUnderAttack))
		})
	}
}

// lines are n lines of a header; no two names are the same.
func lines(n int) string {
	text := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(text, "X%d:%s\r\n", i, strings.Repeat("x", 50))
	}
	return text.String()
}

// fields are as many of HTTP/2.
func fields(n int) []hpack.HeaderField {
	made := make([]hpack.HeaderField, n)
	for i := range made {
		made[i] = hpack.HeaderField{Name: fmt.Sprint("x", i), Value: "x"}
	}
	return made
}

// streams is a client of HTTP/2 that asks much, and lets no answer in.
func streams(t *testing.T, fields ...hpack.HeaderField) string {
	t.Helper()
	g := NewWithT(t)
	text := &bytes.Buffer{}
	text.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(text, nil)
	g.Expect(framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})).To(Succeed())
	block := &bytes.Buffer{}
	encoder := hpack.NewEncoder(block)
	for stream := range uint32(100) {
		block.Reset()
		for _, field := range append([]hpack.HeaderField{
			{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "a"}, {Name: ":path", Value: "/"},
		}, fields...) {
			field.Sensitive = true // So that each stream holds its own.
			g.Expect(encoder.WriteField(field)).To(Succeed())
		}
		g.Expect(framer.WriteHeaders(http2.HeadersFrameParam{
			StreamID: 2*stream + 1, EndStream: true, EndHeaders: true, BlockFragment: block.Bytes(),
		})).To(Succeed())
	}
	return text.String()
}

// built is the binary that ships.
func built(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "responder")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, "../../cmd/responder")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(out))
	return binary
}

// fifty runs the binary with 50 Services on 64 listeners. From the tenth on, every second one is on the port of MySQL, whose
// clients say nothing until they are greeted.
func fifty(t *testing.T, binary string) (*world, *exec.Cmd) {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	w := &world{t: t, ports: ports.Range(t, 65), table: filepath.Join(folder, "listeners", listener.Key)}
	w.ports.Last--
	w.admin = fmt.Sprintf("127.0.0.1:%d", w.ports.Last+1)
	table := []listener.Listener{}
	for i := range int32(50) {
		port := int32(80)
		if i >= 10 && i%2 == 1 {
			port = 3306
		}
		table = append(table, listener.Listener{Port: w.ports.First + i, Service: fmt.Sprintf("service-%d", i), ServicePort: port, Page: says("closed")})
	}
	w.writeTable(table)
	process := exec.CommandContext(t.Context(), binary, "--listeners", w.ports.String(), "--table", w.table,
		"--content", folder, "--admin-bind-address", w.admin, "--bind-address", "127.0.0.1", "--drain", "0s")
	process.Env = append(os.Environ(), "GOMEMLIMIT="+softLimit)
	process.Stderr = os.Stderr
	g.Expect(process.Start()).To(Succeed())
	cgroup.Contain(t, process, mostUnderAttack)
	t.Cleanup(func() {
		if process.ProcessState == nil {
			_ = process.Wait() // The end of the test's context has killed it.
		}
	})
	g.Eventually(func() int { return w.adminStatus("/readyz") }, timeout).Should(Equal(http.StatusOK))
	return w, process
}
