package responder_test

import (
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/sys/unix"

	"github.com/critical-service/operator/test/cgroup"
)

const (
	// crowd connections are open at once on the side of the clients, of whom the responder keeps as many as it may.
	crowd = 10_000
	// crowdFiles are open in the process of a test with them.
	crowdFiles = crowd + 500
	// timeOfCrowd is for a machine that is busy: the clients of a crowd take more of it than the responder does.
	timeOfCrowd = time.Minute
	// crowded Services, the first ones, are asked by the crowd.
	crowded = 40
)

// TestTenThousandConnectionsAtOnce is about the binary that ships, with its own limits.
func TestTenThousandConnectionsAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	wantFiles(t)
	binary := built(t)
	for sentence, opening := range map[string]string{
		"that say nothing, as MySQL's do": "",
		"in the midst of a header":        "GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 4<<10),
		"in the midst of HTTP/2":          beginHTTP2 + "\x00\x40\x00\x01\x04\x00\x00\x00\x01" + strings.Repeat("x", 4<<10),
		"in the midst of TLS":             "\x16\x03\x01\x40\x00\x01\x00\x3f\xfc" + strings.Repeat("x", 4<<10),
		"in the midst of MongoDB":         "\x00\x20\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00" + strings.Repeat("x", 4<<10),
		"in the midst of PostgreSQL":      "\x00\x00\x27\x10\x00\x03\x00\x00" + strings.Repeat("x", 4<<10),
		"in the midst of Redis":           "*1\r\n$1000000\r\n" + strings.Repeat("x", 4<<10),
		"that were answered, and remain":  "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			w, process := fifty(t, binary)
			answer := func(n int32) func() string { return func() string { return w.text(n) } }
			come := func(i int) net.Conn {
				conn, err := net.Dial("tcp", w.address(int32(i%crowded)))
				if err != nil {
					t.Error(err) // The kernel accepts them all, whatever becomes of them.
					return nil
				}
				_, _ = io.WriteString(conn, opening) // It may be cut off.
				return conn
			}
			conns := atOnce(crowd, come)
			for n := int32(crowded); n < 50; n++ {
				g.Eventually(answer(n), timeOfCrowd).Should(ContainSubstring("closed"), "another Service is answered")
			}
			g.Eventually(func() (int, error) { return w.statusFrom(t.Context(), net.IPv4(127, 0, 0, 2), 0) }, timeOfCrowd).
				Should(Equal(http.StatusServiceUnavailable), "another client is answered")
			t.Logf("%d connections %s: %d MiB at most", crowd, sentence, cgroup.Peak(process)>>20)
			g.Expect(cgroup.Peak(process)).To(BeNumerically("<", mostUnderAttack))
			for _, conn := range conns {
				if conn != nil {
					_ = conn.Close() // The other end may have closed it.
				}
			}
			g.Eventually(w.metrics, timeOfCrowd).Should(And(ContainSubstring("connections_open 0\n"), ContainSubstring("panics_total 0\n")))
			for n := range int32(50) {
				g.Eventually(answer(n), timeOfCrowd).Should(ContainSubstring("closed"), "all are answered when they have gone")
			}
		})
	}
}

// atOnce makes connections, many at the same time.
func atOnce(many int, come func(i int) net.Conn) []net.Conn {
	conns, workers := make([]net.Conn, many), sync.WaitGroup{}
	const each = 16
	for first := range each {
		workers.Go(func() {
			for i := first; i < many; i += each {
				conns[i] = come(i)
			}
		})
	}
	workers.Wait()
	return conns
}

// TestWhatIsTooLargeTakesNoMemory sends, in every protocol, what claims to be huge, and then goes on sending.
func TestWhatIsTooLargeTakesNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	const clients, each = 8, 32 << 20
	const mySQL = "MySQL: a packet, once it is greeted"
	binary := built(t)
	w, process := fifty(t, binary)
	for sentence, opening := range map[string]string{
		"HTTP/1.1: the method":                   strings.Repeat("G", 100),
		"HTTP/1.1: the path":                     "GET /",
		"HTTP/1.1: a line of the header":         "GET / HTTP/1.1\r\nHost: a\r\nX: ",
		"HTTP/1.1: the body":                     "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775807\r\n\r\n",
		"HTTP/1.1: a chunk":                      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n",
		"HTTP/2: a frame of 16 MiB":              beginHTTP2 + "\xff\xff\xff\x01\x04\x00\x00\x00\x01",
		"HTTP/2: a header of frames without end": beginHTTP2 + "\x00\x40\x00\x01\x00\x00\x00\x00\x01",
		"gRPC: a message of 4 GiB":               beginHTTP2 + "\x00\x00\x05\x00\x00\x00\x00\x00\x01\x00\xff\xff\xff\xff",
		"TLS: a record":                          "\x16\x03\x01\xff\xff\x01\xff\xff\xff",
		"PostgreSQL: a packet of 2 GiB":          "\x7f\xff\xff\xff\x00\x03\x00\x00",
		"PostgreSQL: the largest packet":         "\x00\x00\x27\x10\x00\x03\x00\x00",
		mySQL:                                    "\xff\xff\xff\x01",
		"Redis: an argument of 2 GiB":            "*1\r\n$2147483647\r\n",
		"Redis: the largest argument":            "*1\r\n$536870912\r\n",
		"Redis: two billion arguments":           "*2147483647\r\n$4\r\nPING\r\n",
		"Redis: a line":                          "PING ",
		"MongoDB: a message of 2 GiB":            "\xff\xff\xff\x7f\x07\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00",
		"MongoDB: the largest first message":     "\xff\xff\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00",
		"PROXY: the largest header":              "\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff",
		"PROXY: a line":                          "PROXY TCP4 ",
		"an unknown protocol":                    "\x00\x01\x02\x03",
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var running sync.WaitGroup
			for i := range int32(clients) {
				c, first := w.dial(10+i), 0
				if sentence == mySQL {
					c, first = w.dial(11+2*i), 1
				}
				running.Go(func() {
					if _, err := io.ReadFull(c, make([]byte, first)); err != nil {
						t.Error(err)
					}
					_, _ = io.WriteString(c, opening)
					_, _ = io.CopyN(c, zeros{}, each) // It may be cut off.
					_ = c.CloseWrite()
					if err := ended(c); err != nil {
						t.Error(err)
					}
				})
			}
			g.Expect(w.text(48)).To(ContainSubstring("closed"), "others are answered")
			running.Wait()
			g.Expect(cgroup.Peak(process)).To(BeNumerically("<", mostUnderAttack/4))
		})
	}
	t.Logf("what is too large: %d MiB at most", cgroup.Peak(process)>>20)
	NewWithT(t).Expect(w.metrics()).To(ContainSubstring("panics_total 0\n"))
}

// The admin port is for the kubelet and Prometheus, and every Pod of the cluster may reach it.
func TestTenThousandConnectionsToTheAdminPort(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the binary")
	}
	wantFiles(t)
	g := NewWithT(t)
	w, process := fifty(t, built(t))
	conns := atOnce(crowd, func(int) net.Conn {
		conn, err := net.Dial("tcp", w.admin)
		if err != nil {
			t.Error(err)
			return nil
		}
		_, _ = io.WriteString(conn, "GET /metrics HTTP/1.1\r\nHost: a\r\nX: "+strings.Repeat("x", 7<<10)) // It may be cut off.
		return conn
	})
	for n := range int32(50) {
		g.Eventually(func() int { return w.adminStatus("/healthz") }, timeOfCrowd).Should(Equal(http.StatusOK), "the kubelet restarts nothing")
		g.Eventually(func() string { return w.text(n) }, timeOfCrowd).Should(ContainSubstring("closed"), "all are answered")
	}
	t.Logf("%d connections to the admin port: %d MiB at most", crowd, cgroup.Peak(process)>>20)
	g.Expect(cgroup.Peak(process)).To(BeNumerically("<", mostUnderAttack/4))
	for _, conn := range conns {
		if conn != nil {
			_ = conn.Close() // The other end may have closed it.
		}
	}
}

// wantFiles wants a limit of open files that is enough for a crowd.
func wantFiles(t *testing.T) {
	t.Helper()
	g, files := NewWithT(t), unix.Rlimit{}
	g.Expect(unix.Getrlimit(unix.RLIMIT_NOFILE, &files)).To(Succeed())
	g.Expect(files.Cur).To(BeNumerically(">=", crowdFiles), "raise the limit of open files for this test: ulimit -Hn %d", crowdFiles)
}
