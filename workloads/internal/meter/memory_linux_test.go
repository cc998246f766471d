package meter_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/critical-service/operator/test/cgroup"
	"github.com/critical-service/operator/workloads/internal/metering"
)

const (
	// crowd is more than the meter lets connect at once.
	crowd = 1700
	// timeOfCrowd is for a machine that is busy.
	timeOfCrowd = 2 * time.Minute
)

// TestTheMeterUnderAttackFitsItsPod takes all the memory that clients can take of the program that ships, with the limits of its
// container.
func TestTheMeterUnderAttackFitsItsPod(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	binary := built(t)
	header, field := "Host: a\r\nX: "+strings.Repeat("x", 15<<10)+"\r\n", hpack.HeaderField{Name: "x", Value: strings.Repeat("~", 7<<10)}
	upload, address := strings.Repeat("x", 256<<10), "?"+strings.Repeat("%20", 5<<10)
	pings := strings.Repeat("\x00\x00\x08\x06\x00\x00\x00\x00\x00ping-...", 9_900)
	for sentence, c := range map[string]struct{ opening, then string }{
		"in the midst of a header":                                  {"GET / HTTP/1.1\r\n" + header, ""},
		"in the midst of a header of many fields":                   {"GET / HTTP/1.1\r\nHost: a\r\n" + lines(1500), ""},
		"with large headers, and no answer yet":                     {"GET /wait HTTP/1.1\r\n" + header + "\r\n", ""},
		"with large addresses, and no answer yet":                   {"GET /wait" + address + " HTTP/1.1\r\nHost: a\r\n\r\n", ""},
		"with large headers, and answers that are not taken":        {"GET /large HTTP/1.1\r\n" + header + "\r\n", ""},
		"with uploads that are not taken":                           {"POST /unread HTTP/1.1\r\n" + "Content-Length: 1000000\r\n" + header + "\r\n", upload},
		"of HTTP/2, in the midst of a header":                       {http2.ClientPreface + "\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x40\x00\x01\x00\x00\x00\x00\x01" + strings.Repeat("x", 16<<10-1), ""},
		"of HTTP/2, with large headers, and no answer yet":          {streams(t, requests{path: "/wait"}, field, field), pings},
		"of HTTP/2, with large addresses, and no answer yet":        {streams(t, requests{path: "/wait" + address}), pings},
		"of HTTP/2, with many fields, and no answer yet":            {streams(t, requests{path: "/wait"}, fields(120, 80)...), pings},
		"of HTTP/2, with answers that are not taken":                {streams(t, requests{path: "/large"}, field, field), pings},
		"of HTTP/2, with answers that are not taken, without pings": {streams(t, requests{path: "/large"}), ""},
		"of HTTP/2, with uploads that are not taken":                {streams(t, requests{path: "/wait", body: upload[:16<<10]}), ""},
		"of HTTP/2, with large headers, many times withdrawn":       {streams(t, requests{path: "/wait", withdrawn: 900}, field, field), ""},
		"of HTTP/2, with headers that are too large":                {streams(t, requests{path: "/"}, field, field, field), pings},
		"of HTTP/2, with headers that are invalid":                  {streams(t, requests{path: "/"}, field, field, hpack.HeaderField{Name: "te", Value: "x"}), pings},
		"of HTTP/2, with too many fields":                           {streams(t, requests{path: "/"}, fields(maxFields+1, 80)...), pings},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			traffic, process, gone := contained(t, binary)
			var sending sync.WaitGroup
			conns := make(chan net.Conn, crowd)
			for range crowd {
				sending.Go(func() {
					conn, err := net.Dial("tcp", traffic)
					if err != nil {
						return // The meter may have no room for it.
					}
					conns <- conn
					_ = conn.(*net.TCPConn).SetReadBuffer(1)
					_ = conn.(*net.TCPConn).SetWriteBuffer(32 << 10) // So that the machine has room for what all clients send.
					_ = conn.SetDeadline(time.Now().Add(timeOfCrowd / 12))
					_, _ = io.WriteString(conn, c.opening) // It may be cut off.
					_, _ = io.WriteString(conn, c.then)
				})
			}
			sending.Wait()
			close(conns)
			g.Expect(status(metricsOfProgram, metering.LivePath)).To(Equal(http.StatusOK), "the kubelet restarts nothing")
			t.Logf("%s: %d MiB at most", sentence, cgroup.Peak(process)>>20)
			g.Expect(cgroup.Peak(process)).To(BeNumerically("<", metering.MemoryLimit))
			for conn := range conns {
				_ = conn.Close()
			}
			gone()
			g.Eventually(func() (int, error) { return status(traffic, "/") }, timeOfCrowd).Should(Equal(http.StatusOK), "others are answered when they have gone")
		})
	}
}

// lines are n lines of a header; no two names are the same.
func lines(n int) string {
	text := &strings.Builder{}
	for i := range n {
		fmt.Fprintf(text, "X%d: x\r\n", i)
	}
	return text.String()
}

// maxFields is how many a request may have.
const maxFields = 128

// fields are n of HTTP/2, of so many bytes each.
func fields(n, size int) []hpack.HeaderField {
	made := make([]hpack.HeaderField, n)
	for i := range made {
		made[i] = hpack.HeaderField{Name: fmt.Sprint("x", i), Value: strings.Repeat("~", size)}
	}
	return made
}

// requests are those of a client of HTTP/2, with a body or not, after others that it has withdrawn.
type requests struct {
	path, body string
	withdrawn  uint32
}

// streams is a client of HTTP/2 that asks much at once, and lets no answer in.
func streams(t *testing.T, of requests, fields ...hpack.HeaderField) string {
	t.Helper()
	g := NewWithT(t)
	text := &bytes.Buffer{}
	text.WriteString(http2.ClientPreface)
	framer := http2.NewFramer(text, nil)
	g.Expect(framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})).To(Succeed())
	block := &bytes.Buffer{}
	encoder := hpack.NewEncoder(block)
	for stream := range of.withdrawn + 100 {
		block.Reset()
		for _, field := range append([]hpack.HeaderField{
			{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: "a"}, {Name: ":path", Value: of.path},
		}, fields...) {
			field.Sensitive = true // So that each stream holds its own.
			g.Expect(encoder.WriteField(field)).To(Succeed())
		}
		id, isFirst := 2*stream+1, true
		for rest := block.Bytes(); len(rest) > 0; isFirst = false {
			part := rest[:min(len(rest), 16<<10)]
			rest = rest[len(part):]
			if isFirst {
				g.Expect(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, EndStream: of.body == "", EndHeaders: len(rest) == 0, BlockFragment: part})).To(Succeed())
			} else {
				g.Expect(framer.WriteContinuation(id, len(rest) == 0, part)).To(Succeed())
			}
		}
		if of.body != "" && stream < 16 { // As much as a connection may send.
			g.Expect(framer.WriteData(id, false, []byte(of.body))).To(Succeed())
		}
		if stream < of.withdrawn {
			g.Expect(framer.WriteRSTStream(id, http2.ErrCodeCancel)).To(Succeed())
		}
	}
	return text.String()
}

// built is the program that ships.
func built(t *testing.T) (binary string) {
	t.Helper()
	binary = filepath.Join(t.TempDir(), "meter")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, "../../cmd/meter")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(out))
	return binary
}

// metricsOfProgram is where the program that ships has its metrics.
var metricsOfProgram = net.JoinHostPort("127.0.0.1", strconv.Itoa(metering.MetricsPort))

// contained runs the program in a container's limits, before an application, which needs to know when clients have gone.
func contained(t *testing.T, binary string) (traffic string, process *exec.Cmd, gone func()) {
	t.Helper()
	g := NewWithT(t)
	protocols := &http.Protocols{}
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	mux, end := http.NewServeMux(), make(chan struct{})
	gone = sync.OnceFunc(func() { close(end) })
	mux.HandleFunc("/{$}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/wait", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	// No server of HTTP/1.1 sees that a client has gone while nothing reads its body.
	mux.HandleFunc("/unread", func(http.ResponseWriter, *http.Request) { <-end })
	mux.HandleFunc("/large", func(rw http.ResponseWriter, _ *http.Request) {
		for part := make([]byte, 32<<10); ; {
			if _, err := rw.Write(part); err != nil {
				return
			}
		}
	})
	app := httptest.NewUnstartedServer(mux)
	app.Config.Protocols, app.Config.HTTP2 = protocols, &http.HTTP2Config{MaxConcurrentStreams: 2000}
	app.Start()
	t.Cleanup(app.Close)
	t.Cleanup(gone)
	_, port, err := net.SplitHostPort(app.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	process = exec.CommandContext(t.Context(), binary, "--app-port="+port, "--drain=0s")
	process.Env = append(os.Environ(), fmt.Sprint("GOMEMLIMIT=", metering.SoftMemoryLimit))
	process.Stderr = os.Stderr
	g.Expect(process.Start()).To(Succeed())
	cgroup.Contain(t, process, metering.MemoryLimit)
	t.Cleanup(func() {
		_ = process.Process.Kill() // If it has ended, its memory was no size.
		_ = process.Wait()
	})
	g.Eventually(func() (int, error) { return status(metricsOfProgram, metering.ReadyPath) }, timeOfCrowd).Should(Equal(http.StatusOK))
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(metering.Port)), process, gone
}
