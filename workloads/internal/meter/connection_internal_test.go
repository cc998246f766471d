package meter

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

func TestHeadersAreBoundedForAllClientsTogether(t *testing.T) {
	large := "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 2*mostOfHeader)
	for sentence, c := range map[string]struct {
		sent string
		// others is what there is of all other headers, and isServed whether a request is under way.
		others   int64
		isServed bool
		want     types.GomegaMatcher
	}{
		"a large header alone is taken":                     {large, 0, false, Succeed()},
		"a large header beside many is not":                 {large, mostOfHeaders, false, MatchError(errHeaders)},
		"many short lines beside many headers are not":      {strings.Repeat("X: x\r\n", 100), mostOfHeaders, false, MatchError(errHeaders)},
		"a small header beside many is taken":               {"GET / HTTP/1.1\r\nHost: a\r\n", mostOfHeaders, false, Succeed()},
		"a body beside many headers is taken":               {large, mostOfHeaders, true, Succeed()},
		"HTTP/2 beside many headers has a bound of its own": {preface + large, mostOfHeaders, false, Succeed()},
	} {
		t.Run(sentence, func(t *testing.T) {
			g, all := NewWithT(t), &listener{}
			all.headers.Store(c.others)
			client := &connection{of: all}
			client.serve(c.isServed)
			g.Expect(client.received([]byte(c.sent))).To(c.want)
			client.serve(true)
			g.Expect(all.headers.Load()).To(Equal(c.others), "what was answered counts no more")
		})
	}
}

// A reader that has half a line drops the error that comes then: what it reads next would be taken for the rest.
func TestAHeaderThatWasCutOffIsReadNoFurther(t *testing.T) {
	g := NewWithT(t)
	client, all := connected(t)
	all.headers.Store(mostOfHeaders)
	_, err := io.WriteString(client, "GET / HTTP/1.1\r\nContent-Length: 6\r\nHo")
	g.Expect(err).NotTo(HaveOccurred())
	conn, err := all.Accept()
	g.Expect(err).NotTo(HaveOccurred())
	reader := bufio.NewReader(conn)
	_, err = reader.Peek(1)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = io.WriteString(client, strings.Repeat("x", 2*mostOfHeader))
	g.Expect(err).NotTo(HaveOccurred())
	for err == nil {
		_, err = reader.ReadSlice('\n')
	}
	_, _ = io.WriteString(client, "\r\nHost: a\r\n\r\n") // The connection may be gone.
	_, err = io.ReadAll(reader)
	g.Expect(err).To(MatchError(net.ErrClosed))
	g.Expect(all.headers.Load()).To(BeEquivalentTo(mostOfHeaders), "it counts no more")
}

// connected is a client of a listener, which has yet to accept it.
func connected(t *testing.T) (client net.Conn, server *listener) {
	t.Helper()
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = tcp.Close() })
	client, err = net.Dial("tcp", tcp.Addr().String())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = client.Close() })
	return client, &listener{Listener: tcp}
}

// served is a meter that serves one client.
func served(t *testing.T, app net.Addr, progress time.Duration) (*Meter, *listener, net.Conn) {
	t.Helper()
	m := New(Options{App: app.String(), Log: slog.New(slog.DiscardHandler)})
	m.progress = progress
	client, traffic := connected(t)
	server := m.server()
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(traffic) }()
	return m, traffic, client
}

func TestRequestsTakeNothingOnceTheyAreAnswered(t *testing.T) {
	large := "X: " + strings.Repeat("x", maxHeaderBytes/2) + "\r\n\r\n"
	for sentence, c := range map[string]struct {
		sent string
		want int
	}{
		"one that passes":                 {"GET / HTTP/1.1\r\nHost: a\r\n" + large, http.StatusOK},
		"one with a body":                 {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n" + large + "12345", http.StatusOK},
		"one that is for no path":         {"OPTIONS * HTTP/1.1\r\nHost: a\r\n" + large, http.StatusOK},
		"one that is refused":             {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: x\r\n", maxHeaderFields+1) + large, http.StatusRequestHeaderFieldsTooLarge},
		"one whose body is not read":      {"POST /no HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n" + large + strings.Repeat("\n", 20000), http.StatusOK},
		"one that is refused with a body": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n" + strings.Repeat("X: x\r\n", maxHeaderFields+1) + large + strings.Repeat("\n", 20000), http.StatusRequestHeaderFieldsTooLarge},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			app := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/no" {
					_, _ = io.Copy(io.Discard, r.Body)
				}
			}))
			t.Cleanup(app.Close)
			m, traffic, client := served(t, app.Listener.Addr(), progressTimeout)
			reader := bufio.NewReader(client)
			for range 3 {
				_, err := io.WriteString(client, c.sent)
				g.Expect(err).NotTo(HaveOccurred())
				response, err := http.ReadResponse(reader, nil)
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(response.StatusCode).To(Equal(c.want))
				_, err = io.Copy(io.Discard, response.Body)
				g.Expect(err).NotTo(HaveOccurred())
				g.Eventually(traffic.headers.Load).Should(BeZero(), "its header")
				g.Eventually(m.memory.used.Load).Should(BeZero(), "its memory")
			}
		})
	}
}

func TestHTTP2IsSeenHoweverItArrives(t *testing.T) {
	for each := 1; each <= len(preface); each++ {
		g, client := NewWithT(t), &connection{of: &listener{}}
		for sent := preface; sent != ""; sent = sent[min(each, len(sent)):] {
			g.Expect(isHTTP2(client)).To(BeFalse())
			g.Expect(client.received([]byte(sent[:min(each, len(sent))]))).To(Succeed())
		}
		g.Expect(isHTTP2(client)).To(BeTrue())
	}
	other := &connection{of: &listener{}}
	NewWithT(t).Expect(other.received([]byte("POST / HTTP/1.1\r\n\r\n" + preface))).To(Succeed())
	NewWithT(t).Expect(isHTTP2(other)).To(BeFalse())
}

// What has no memory is refused without an answer, and is traffic all the same.
func TestARequestWithoutMemoryIsAborted(t *testing.T) {
	g := NewWithT(t)
	m := New(Options{App: "127.0.0.1:1", Log: slog.New(slog.DiscardHandler)})
	g.Expect(m.memory.take(maxMemory)).To(BeTrue())
	g.Expect(func() { m.serve(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", http.NoBody)) }).To(PanicWith(http.ErrAbortHandler))
	g.Expect(m.total.Load()).To(Equal(int64(1)))
	m.memory.leave(maxMemory)
	g.Expect(m.memory.take(maxMemory)).To(BeTrue())
}
