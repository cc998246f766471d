package responder_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"golang.org/x/net/http2"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
)

func shop() []listener.Listener {
	return []listener.Listener{{Port: 0, Service: "shop", PortName: "web", ServicePort: 80, Page: says("The shop is closed.")}}
}

// exchange sends text and returns all that comes until the end, which must not
// be a reset.
func exchange(t *testing.T, c net.Conn, text string) string {
	t.Helper()
	_, err := io.WriteString(c, text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	answer, err := io.ReadAll(c)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(answer)
}

func TestHTTP1OnTheWire(t *testing.T) {
	w := start(t, 2, shop(), nil)
	for sentence, c := range map[string]struct {
		request string
		begins  string
		body    bool
	}{
		"GET gets the page, and the end":                    {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 503 Service Unavailable\r\n", true},
		"HEAD gets no body":                                 {"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 503 ", false},
		"HTTP/1.0 is answered":                              {"GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 ", true},
		"a body that never comes is not waited for":         {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n", "HTTP/1.1 503 ", true},
		"a chunked body that never ends is not waited for":  {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "HTTP/1.1 503 ", true},
		"who waits for 100 gets the answer instead":         {"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 503 ", true},
		"requests in a row get one answer, and no reset":    {strings.Repeat("GET / HTTP/1.1\r\nHost: a\r\n\r\n", 50), "HTTP/1.1 503 ", true},
		"an upgrade to h2c is answered over HTTP/1.1":       {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n", "HTTP/1.1 503 ", true},
		"a WebSocket is answered over HTTP/1.1":             {"GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: YQ==\r\n\r\n", "HTTP/1.1 503 ", true},
		"a header that is too large is refused":             {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "HTTP/1.1 431 ", true},
		"a header of too many lines is refused":             {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: x\r\n", 128) + "\r\n", "HTTP/1.1 400 ", true},
		"a header of many lines is read":                    {"GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X: x\r\n", 126) + "\r\n", "HTTP/1.1 503 ", true},
		"the lines of a body do not count":                  {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 400\r\n\r\n" + strings.Repeat("\n", 400), "HTTP/1.1 503 ", true},
		"OPTIONS of the server itself gets the page":        {"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 503 ", true},
		"a header that is none is refused":                  {"GET / HTTP/1.1\r\nHost: a\r\nno header\r\n\r\n", "HTTP/1.1 400 ", true},
		"a framing that smuggles a request in gets no page": {"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabc", "HTTP/1.1 400 ", true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			conn := w.dial(0)
			answer := make(chan string, 1)
			go func() {
				// A client that has its answer closes; these bodies never come.
				read, _ := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: strings.Fields(c.request)[0]})
				buffer := &bytes.Buffer{}
				if read != nil {
					_ = read.Write(buffer)
				}
				answer <- buffer.String()
			}()
			_, err := io.WriteString(conn, c.request)
			g.Expect(err).NotTo(HaveOccurred())
			var text string
			g.Eventually(answer, timeout).Should(Receive(&text))
			g.Expect(text).To(HavePrefix(c.begins))
			g.Expect(text).To(ContainSubstring("Connection: close"))
			_, body, _ := strings.Cut(text, "\r\n\r\n")
			wanted := BeEmpty()
			if c.body {
				wanted = Not(wanted)
			}
			g.Expect(body).To(wanted)
		})
	}
}

func TestAClientThatSendsALotSeesTheAnswerAndNoReset(t *testing.T) {
	const size = 40 << 20
	w := start(t, 1, shop(), nil)
	// These clients write everything before they read, as simple ones do.
	for sentence, c := range map[string]struct {
		framing string
		body    func(io.Writer) io.WriteCloser
	}{
		"of a known length": {fmt.Sprintf("Content-Length: %d", size), func(to io.Writer) io.WriteCloser { return unframed{to} }},
		"in chunks":         {"Transfer-Encoding: chunked", httputil.NewChunkedWriter},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			conn := w.dial(0)
			_, err := fmt.Fprintf(conn, "POST /upload HTTP/1.1\r\nHost: a\r\n%s\r\n\r\n", c.framing)
			g.Expect(err).NotTo(HaveOccurred())
			body := c.body(conn)
			_, err = io.CopyN(body, zeros{}, size)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(body.Close()).To(Succeed())
			g.Expect(exchange(t, conn, "")).To(HavePrefix("HTTP/1.1 503 "))
		})
	}
}

// unframed is the body of a request as it is.
type unframed struct{ io.Writer }

func (unframed) Close() error { return nil }

type zeros struct{}

func (zeros) Read(into []byte) (int, error) { return len(into), nil }

func TestHTTP2WithPriorKnowledge(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), nil)
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}, Timeout: timeout}
	for range 3 {
		answer, err := client.Get(w.url(0, "/"))
		g.Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(answer.Body)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(answer.Body.Close()).To(Succeed())
		g.Expect(answer.ProtoMajor).To(Equal(2))
		g.Expect(answer.StatusCode).To(Equal(503))
		g.Expect(string(body)).To(ContainSubstring("The shop is closed."))
	}
	answer, err := client.Post(w.url(0, "/"), "text/plain", io.LimitReader(zeros{}, 1<<20))
	g.Expect(err).NotTo(HaveOccurred(), "a body is not waited for")
	g.Expect(answer.StatusCode).To(Equal(503))
	g.Expect(answer.Body.Close()).To(Succeed())
}

func TestEveryHTTP2AnswerSendsTheClientAway(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), func(o *responder.Options) { o.IdleTimeout, o.ConnectionTimeout = time.Hour, time.Hour })
	conn := w.dial(0)
	_, err := io.WriteString(conn, http2.ClientPreface)
	g.Expect(err).NotTo(HaveOccurred())
	framer := http2.NewFramer(conn, conn)
	g.Expect(framer.WriteSettings()).To(Succeed())
	// :method GET, :scheme http, :path /, all of HPACK's static table, and :authority.
	g.Expect(framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, EndStream: true, EndHeaders: true,
		BlockFragment: []byte("\x82\x86\x84\x41\x01a")})).To(Succeed())
	seen := map[string]bool{}
	for !seen["GOAWAY"] || !seen["HEADERS"] {
		frame, err := framer.ReadFrame()
		g.Expect(err).NotTo(HaveOccurred())
		seen[frame.Header().Type.String()] = true
	}
}

func TestTheStatusOfEveryAnswerIsCounted(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), nil)
	g.Expect(w.text(0)).To(ContainSubstring("The shop is closed."))
	g.Expect(w.metrics()).To(And(
		ContainSubstring(`critical_service_responder_answers_total{port="web",protocol="http1",service="shop",status="503"} 1`),
		ContainSubstring(`critical_service_responder_connections_total{port="web",protocol="http1",service="shop"} 1`),
		ContainSubstring(`critical_service_responder_listeners{state="bound"} 1`),
		ContainSubstring(`critical_service_responder_listeners{state="assigned"} 1`),
		ContainSubstring(`critical_service_responder_reloads_total{result="ok",what="table"} 1`)))
	w.writeTable(nil)
	g.Eventually(w.metrics, timeout).ShouldNot(ContainSubstring(`service="shop"`), "a Service that is gone leaves no series")
}
