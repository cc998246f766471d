package responder

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	"github.com/spf13/pflag"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder/live"
)

// duplex is the server's end of a connection in memory, whose directions end one by
// one as those of TCP do.
type duplex struct {
	net.Conn          // what the client sends
	out      net.Conn // what it receives
}

func (d duplex) Write(p []byte) (int, error) { return d.out.Write(p) }
func (d duplex) CloseWrite() error           { return d.out.Close() }

// Deadlines of a pipe fail when its other end is closed, unlike those of TCP.

func (d duplex) SetReadDeadline(t time.Time) error {
	_ = d.Conn.SetReadDeadline(t)
	return nil
}

func (d duplex) SetWriteDeadline(t time.Time) error {
	_ = d.out.SetWriteDeadline(t)
	return nil
}

func (d duplex) SetDeadline(t time.Time) error {
	return errors.Join(d.SetReadDeadline(t), d.SetWriteDeadline(t))
}

func (d duplex) Close() error {
	_ = d.out.Close() // It may have ended.
	return d.Conn.Close()
}

// stage is all that a server needs besides its connections.
type stage struct {
	options *Options
	table   *live.Table
	metrics *metrics
}

// newStage is a stage with a Service of each kind, on the first five ports.
func newStage(t testing.TB) *stage {
	t.Helper()
	g := NewWithT(t)
	port, listeners := listener.First, []listener.Listener{}
	for _, appProtocol := range []string{"http", "redis", "postgresql", "mysql", ""} {
		listeners = append(listeners, listener.Listener{Port: port, Service: "shop-" + appProtocol, AppProtocol: appProtocol,
			Page: &criticalv2.PageFallback{StatusCode: 503, Message: "closed"}})
		port++
	}
	listeners[4].PortName = "mysql" // What may be MySQL.
	data, err := (&listener.Table{Listeners: listeners}).Encode()
	g.Expect(err).NotTo(HaveOccurred())
	file := filepath.Join(t.TempDir(), listener.Key)
	g.Expect(os.WriteFile(file, data, 0o600)).To(Succeed())
	made := &stage{
		options: Bind(pflag.NewFlagSet("", pflag.PanicOnError)),
		table:   live.NewTable(live.Options{Table: file, Content: t.TempDir(), Log: logr.Discard()}),
		metrics: newMetrics(func() float64 { return 0 }, 1),
	}
	made.table.Load()
	return made
}

// converse sends parts to a server, one by one, and returns all that is answered, and
// after which time the answer ended. If the client ends, it does so after the last part; else it only listens until the
// server has closed, which must happen in time. It runs in a bubble of its own.
func (s *stage) converse(t *testing.T, port int32, parts []string, ends bool) (heard string, after time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		gate := newGate(s.options.MaxConnections, s.options.MaxConnectionsPerListener, s.options.FirstByteTimeout)
		server := newServer(ctx, s.options, s.table, gate, s.metrics, logr.Discard())
		served := make(chan struct{})
		go func() {
			defer close(served)
			_ = server.http.Serve(server.toHTTP) // It ends with an error that says so.
		}()

		sent, received := net.Pipe()
		answered, answers := net.Pipe()
		own := &connection{stream: duplex{received, answered}, place: place{port: listener.First + port},
			end: time.Now().Add(s.options.ConnectionTimeout)}
		closed := make(chan struct{})
		own.release = func() { close(closed) }
		g.Expect(gate.enter(&own.place)).To(BeTrue())
		begun := time.Now()
		go server.serve(own)
		go func() {
			for _, part := range parts {
				_, _ = io.WriteString(sent, part) // The server may have closed.
			}
			if ends {
				_ = sent.Close()
			}
		}()
		text, err := io.ReadAll(answers)
		g.Expect(err).NotTo(HaveOccurred())
		after = time.Since(begun)
		<-closed
		g.Expect(time.Since(begun)).To(BeNumerically("<=", s.options.ConnectionTimeout+time.Second), "in the time of the bubble")
		heard = string(text)
		g.Expect(server.http.Close()).To(Succeed())
		<-served
	})
	return heard, after
}

// header is a request whose header has many lines.
func header(lines int) string {
	return "GET / HTTP/1.1\r\nHost: a\r\n" + strings.Repeat("X-n: a\r\n", lines) + "\r\n"
}

const (
	proxy1 = "PROXY TCP4 203.0.113.7 203.0.113.8 56324 80\r\n"
	proxy2 = "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xcb\x00\x71\x07\xcb\x00\x71\x08\xdc\x04\x00\x50"
)

// TestHeadersOfManyLinesAreRefusedAtOnce is about all counts between the limit of
// lines and that of bytes.
func TestHeadersOfManyLinesAreRefusedAtOnce(t *testing.T) {
	s := newStage(t)
	for _, lines := range []int{128, 200, 450, 701, 1000} {
		heard, _ := s.converse(t, 0, []string{header(lines)}, false)
		NewWithT(t).Expect(heard).To(HavePrefix("HTTP/1.1 400 "), "%d lines", lines)
	}
}

func TestWhatComesBeforeTheClientIsSkipped(t *testing.T) {
	const request, ping, mySQL = "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "PING\r\n", "\xff\x1d\x04"
	s := newStage(t)
	for sentence, c := range map[string]struct {
		port   int32
		says   string
		begins string
	}{
		"an empty line":                           {0, "\r\n" + request, "HTTP/1.1 503 "},
		"several empty lines":                     {0, "\r\n\n\r\n\r\n" + request, "HTTP/1.1 503 "},
		"not any number of empty lines":           {0, strings.Repeat("\r\n", 5) + request, ""},
		"PROXY, version 1":                        {0, proxy1 + request, "HTTP/1.1 503 "},
		"PROXY, version 1, over IPv6":             {0, "PROXY TCP6 2001:db8::1 2001:db8::2 1 2\r\n" + request, "HTTP/1.1 503 "},
		"PROXY, version 1, of unknown origin":     {0, "PROXY UNKNOWN\r\n" + request, "HTTP/1.1 503 "},
		"PROXY, version 1, then an empty line":    {0, proxy1 + "\r\n" + request, "HTTP/1.1 503 "},
		"PROXY, version 2":                        {0, proxy2 + request, "HTTP/1.1 503 "},
		"PROXY, version 2, of the balancer":       {0, "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00" + request, "HTTP/1.1 503 "},
		"PROXY, version 2, with fields":           {0, "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x08\x00" + strings.Repeat("x", 2048) + request, "HTTP/1.1 503 "},
		"PROXY, before Redis":                     {1, proxy2 + ping, "-LOADING closed"},
		"PROXY, before PostgreSQL":                {2, proxy1 + "\x00\x00\x00\x09\x00\x03\x00\x00\x00", "E"},
		"PROXY, before TLS":                       {0, proxy2 + "\x16\x03\x01\x00\x07\x01\x00\x00\x03\x03\x03\x00", "\x15\x03"},
		"PROXY, before HTTP/2":                    {0, proxy2 + "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00", "\x00\x00"},
		"PROXY, and a client that waits":          {4, proxy1, "\x0f\x00\x00\x00" + mySQL},
		"PROXY, on a port of MySQL":               {3, proxy2, "\x0f\x00\x00\x00" + mySQL},
		"PROXY, and no more":                      {0, proxy1, ""},
		"PROXY, twice":                            {0, proxy1 + proxy1 + request, ""},
		"PROXY, version 1, without an end":        {0, "PROXY TCP4 " + strings.Repeat("1", 200) + request, ""},
		"PROXY, version 1, with half an end":      {0, "PROXY TCP4 1.2.3.4 1.2.3.5 1 2\n" + request, ""},
		"PROXY, version 2, of an unknown command": {0, "\r\n\r\n\x00\r\nQUIT\n\x2f\x11\x00\x00" + request, ""},
		"PROXY, version 2, that is too long":      {0, "\r\n\r\n\x00\r\nQUIT\n\x21\x11\xff\xff" + strings.Repeat("x", 1<<16) + request, ""},
		"a method called PROXY":                   {0, "PROXY / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 503 "},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			heard, _ := s.converse(t, c.port, []string{c.says}, false)
			if c.begins == "" {
				g.Expect(heard).To(BeEmpty())
			}
			g.Expect(heard).To(HavePrefix(c.begins))
		})
	}
}

func TestTheAnswerEndsThoughTheBodyDoesNot(t *testing.T) {
	s := newStage(t)
	for _, framing := range []string{"Content-Length: 10", "Content-Length: 1000000", "Transfer-Encoding: chunked"} {
		t.Run(framing, func(t *testing.T) {
			g := NewWithT(t)
			heard, after := s.converse(t, 0, []string{"POST / HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n5\r\nhello"}, false)
			g.Expect(heard).To(HavePrefix("HTTP/1.1 503 "))
			g.Expect(after).To(BeZero(), "in the time of the bubble")
		})
	}
}

// FuzzOpening sends anything, cut anywhere, and expects the answer to be that of one
// piece, and the end to come in time.
func FuzzOpening(f *testing.F) {
	request := "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
	for i, opening := range []string{
		request, "\r\n\r\n" + request, proxy1 + request, proxy2 + request, proxy2 + "PING\r\n", header(126), header(200), header(701),
		proxy1, "PROXY UNKNOWN\r\n\r\n", "PING\r\n*1\r\n$4\r\nQUIT\r\n", "\x00\x00\x00\x09\x00\x03\x00\x00\x00", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "", "\r", "\r\n\r\n\x00\r\nQUIT", "GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n",
		"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 16<<10),
	} {
		for port := range uint8(5) {
			f.Add([]byte(opening), len(opening)/3, len(opening)/3+1+i, port, i%2 == 0)
		}
		f.Add([]byte(opening), 0, 0, uint8(0), i%2 == 1)
	}
	s := newStage(f)
	f.Fuzz(func(t *testing.T, data []byte, first, second int, port uint8, ends bool) {
		says := string(data)
		whole, _ := s.converse(t, int32(port%5), []string{says}, ends)
		if parts, _ := s.converse(t, int32(port%5), cut(says, first, second), ends); parts != whole && !strings.Contains(says, "PRI *") {
			t.Fatalf("in one piece: %.200q\nin parts: %.200q", whole, parts)
		}
	})
}

// cut makes three parts of a text, or one of each byte.
func cut(text string, first, second int) []string {
	if first == 0 && second == 0 {
		return strings.Split(text, "")
	}
	first = max(0, min(first, len(text)))
	second = max(first, min(second, len(text)))
	return []string{text[:first], text[first:second], text[second:]}
}
