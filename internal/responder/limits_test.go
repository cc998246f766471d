package responder_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
)

// hasty makes a responder with short timeouts.
func hasty(o *responder.Options) {
	o.FirstByteTimeout, o.HeaderTimeout, o.IdleTimeout, o.ConnectionTimeout =
		100*time.Millisecond, 300*time.Millisecond, 300*time.Millisecond, time.Second
}

// ended waits until the other side has ended the connection, in whatever way.
func ended(c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the connection is still open")
	}
	return nil
}

func TestEveryClientIsDoneWithInTime(t *testing.T) {
	w := start(t, 1, nil, hasty)
	for sentence, behave := range map[string]func(net.Conn){
		"a client that sends nothing":         func(net.Conn) {},
		"a client that stops in the greeting": func(c net.Conn) { _, _ = io.WriteString(c, "GE") },
		"a client that stops in the header":   func(c net.Conn) { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\nX") },
		"a client that stops in HTTP/2":       func(c net.Conn) { _, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") },
		"a client that stops before HTTP/2":   func(c net.Conn) { _, _ = io.WriteString(c, "PRI * HTTP/2.0\r\n") },
		"slow loris": func(c net.Conn) {
			_, _ = io.WriteString(c, "GET / HTTP/1.1\r\n")
			go func() {
				for ticker := time.NewTicker(20 * time.Millisecond); ; <-ticker.C {
					if _, err := io.WriteString(c, "X: x\r\n"); err != nil {
						ticker.Stop()
						return
					}
				}
			}()
		},
		"a client that uploads for ever": func(c net.Conn) {
			_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000000000\r\n\r\n")
			go func() { _, _ = io.Copy(c, zeros{}) }()
		},
		"a client that half closes at once": func(c net.Conn) { _ = c.(*net.TCPConn).CloseWrite() },
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c := w.dial(0)
			behave(c)
			NewWithT(t).Expect(ended(c)).To(Succeed())
		})
	}
	t.Run("and none of them stays", func(t *testing.T) {
		t.Parallel()
		NewWithT(t).Eventually(w.metrics, timeout).Should(ContainSubstring("critical_service_responder_connections_open 0"))
	})
}

func TestAClientThatHalfClosesGetsItsAnswer(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), nil)
	c := w.dial(0)
	_, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: a\r\n\r\n")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(c.CloseWrite()).To(Succeed())
	answer, err := io.ReadAll(c)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(answer)).To(HavePrefix("HTTP/1.1 503 "))
}

func TestGarbageAndAbortsAreSurvived(t *testing.T) {
	g := NewWithT(t)
	table := []listener.Listener{
		{Port: 0, Service: "shop", Page: says("closed")},
		{Port: 1, Service: "cache", AppProtocol: "redis", Page: says("closed")},
		{Port: 2, Service: "orders", AppProtocol: "postgresql", Page: says("closed")},
	}
	w := start(t, 3, table, hasty)
	source := rand.NewChaCha8([32]byte{1}) // The same garbage every time.
	seeded := rand.New(source)
	openings := []string{"", "GET / HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01", "*1\r\n$4\r\n", "\x00\x00\x00\x08\x04\xd2\x16\x2f"}
	for i := range 300 {
		c := w.dial(int32(i % 3))
		garbage := make([]byte, seeded.IntN(2000))
		_, _ = source.Read(garbage)
		_, _ = c.Write(append([]byte(openings[seeded.IntN(len(openings))]), garbage...))
		if i%2 == 0 {
			_ = c.SetLinger(0) // A reset instead of an end.
		}
		_ = c.Close()
	}
	// Its bound of 0.1 s for the first byte holds for this client too.
	g.Eventually(func() string { return w.text(0) }, timeout).Should(ContainSubstring("closed"))
	g.Eventually(w.metrics, timeout).Should(And(
		ContainSubstring("critical_service_responder_connections_open 0"),
		ContainSubstring("critical_service_responder_panics_total 0")))
}

func TestEachProtocolIsRefusedInItsOwnWords(t *testing.T) {
	w := start(t, 8, []listener.Listener{
		{Port: 0, Service: "shop", AppProtocol: "http", Page: says("The shop is closed.")},
		{Port: 1, Service: "cache", AppProtocol: "redis", Page: says("The cache is closed.")},
		{Port: 2, Service: "orders", PortName: "postgresql", Page: says("The books are closed.")},
		{Port: 3, Service: "stock", ServicePort: 3306, Page: says("The stock is closed.")},
		{Port: 5, Service: "keys", PortName: "redis-commander", Page: says("closed")},
		{Port: 6, Service: "tables", PortName: "mysql-api", Page: says("closed")},
		{Port: 7, Service: "rows", PortName: "postgres-rw", Page: says("closed")},
	}, nil)
	postgres := "\x00\x00\x00\x09\x00\x03\x00\x00\x00"
	mongo := "\x1a\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\xdd\x07\x00\x00\x00\x00\x00\x00\x00\x05\x00\x00\x00\x00"
	hello := "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
	for sentence, c := range map[string]struct {
		listener int32
		says     string
		want     string
	}{
		"Redis":                                        {1, "PING\r\n", "-LOADING The cache is closed."},
		"PostgreSQL":                                   {2, postgres, "57P03"},
		"MySQL, where the server begins":               {3, "", "The stock is closed."},
		"TLS, on a port for HTTP":                      {0, hello, "\x15\x03"},
		"HTTP on an unassigned port":                   {4, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "},
		"Redis on an unassigned port":                  {4, "*1\r\n$4\r\nPING\r\n", "-LOADING "},
		"PostgreSQL on an unassigned port":             {4, postgres, "57P03"},
		"an unknown protocol gets an end":              {4, "\x00\x01\x02\x03 who are you?\r\n", ""},
		"HTTP to a port said to be Redis":              {1, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "},
		"HTTP to a port called Redis's":                {5, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "},
		"HTTP to a port called MySQL's":                {6, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "},
		"silence on a port called MySQL's":             {6, "", "\xff\x1d\x04"},
		"HTTP to a port called PostgreSQL's":           {7, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "},
		"HTTP to the port of MySQL":                    {3, "GET / HTTP/1.0\r\n\r\n", "HTTP/1.0 503 "},
		"MongoDB on an unassigned port":                {4, mongo, "ShutdownInProgress"},
		"MongoDB to a port said to be HTTP":            {0, mongo, "The shop is closed."},
		"TLS to a port said to be Redis":               {1, hello, "\x15\x03"},
		"a command only Redis would know, on its port": {1, "SUBSCRIBE news\r\n", "-LOADING"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			wanted := ContainSubstring(c.want)
			if c.want == "" {
				wanted = BeEmpty()
			}
			// A client that says nothing for 0.2 s, because it gets no processor, is greeted where the server begins.
			NewWithT(t).Eventually(func(g Gomega) string {
				conn := w.dial(c.listener)
				_, err := io.WriteString(conn, c.says)
				g.Expect(err).NotTo(HaveOccurred())
				if c.says != "" { // A client that waits for the server stays.
					g.Expect(conn.CloseWrite()).To(Succeed())
				}
				answer, err := io.ReadAll(conn)
				g.Expect(err).NotTo(HaveOccurred())
				return string(answer)
			}, timeout).Should(wanted)
		})
	}
}

func TestManyClientsAtOnce(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 64, shop(), nil)
	answers := make(chan string, 2000)
	for worker := range 20 {
		go func() {
			for i := range cap(answers) / 20 {
				answers <- w.text(int32((worker + i) % 64))
			}
		}()
	}
	for range cap(answers) {
		g.Eventually(answers, timeout).Should(Receive(HavePrefix("503 Service Unavailable")))
	}
}

func TestMoreThanAThousandListeners(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1100, nil, nil)
	for _, n := range []int32{0, 549, 1099} {
		g.Expect(w.text(n)).To(HavePrefix("503"))
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	w := start(t, 2, nil, nil)
	good := func() *responder.Options {
		return &responder.Options{Listeners: w.ports.String(), BindAddress: "127.0.0.1", AdminBindAddress: "127.0.0.1:0",
			MaxConnections: 10, MaxConnectionsPerListener: 10, MaxHeaderBytes: 4096, FirstByteTimeout: 1, HeaderTimeout: 1,
			IdleTimeout: 1, ConnectionTimeout: 1, Recheck: time.Second, LogLevel: "error", LogFormat: "json"}
	}
	for sentence, c := range map[string]struct {
		spoil func(*responder.Options)
		says  string
	}{
		"a range that is none":        {func(o *responder.Options) { o.Listeners = "80" }, `--listeners: "80" is not a range of ports, such as "20000-20063"`},
		"a limit of zero":             {func(o *responder.Options) { o.MaxConnections = 0 }, "--max-connections=0: it must be at least 1"},
		"a timeout of zero":           {func(o *responder.Options) { o.HeaderTimeout = 0 }, "--header-timeout=0s: it must be longer than 0s"},
		"a level that is none":        {func(o *responder.Options) { o.LogLevel = "loud" }, `--log-level: unrecognized level: "loud"`},
		"a format that is none":       {func(o *responder.Options) { o.LogFormat = "xml" }, `--log-format="xml": it must be json or text`},
		"ports that are taken":        {func(*responder.Options) {}, "listen on all ports of " + w.ports.String()},
		"an admin port that is taken": {func(o *responder.Options) { o.AdminBindAddress = w.admin }, "listen on --admin-bind-address=" + w.admin},
	} {
		t.Run(sentence, func(t *testing.T) {
			options := good()
			c.spoil(options)
			NewWithT(t).Expect(responder.Run(t.Context(), *options)).To(MatchError(ContainSubstring(c.says)))
		})
	}
}

func TestItAnswersWhileItEnds(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), func(o *responder.Options) { o.Drain = 5 * time.Second })
	w.end()
	g.Eventually(func() int { return w.adminStatus("/readyz") }, timeout).Should(Equal(503))
	g.Expect(w.adminStatus("/healthz")).To(Equal(200))
	g.Expect(w.text(0)).To(ContainSubstring("The shop is closed."))
	var result error = syscall.EINVAL
	g.Eventually(w.done, timeout).Should(Receive(&result))
	g.Expect(result).NotTo(HaveOccurred())
	_, err := net.Dial("tcp", w.address(0))
	g.Expect(err).To(MatchError(syscall.ECONNREFUSED))
	w.done <- nil
}

// FuzzFirstBytes sends anything to a responder that runs.
func FuzzFirstBytes(f *testing.F) {
	for _, opening := range []string{"GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01", "*1\r\n", "\x00\x00\x00\x08\x04\xd2\x16\x2f", ""} {
		f.Add([]byte(opening), uint8(0))
	}
	table := []listener.Listener{{Port: 1, AppProtocol: "redis"}, {Port: 2, AppProtocol: "postgresql"}, {Port: 3, AppProtocol: "http"}}
	running := start(f, 4, table, hasty)
	f.Fuzz(func(t *testing.T, data []byte, n uint8) {
		w := *running
		w.t = t
		c := w.dial(int32(n % 4))
		_, _ = io.Copy(c, bytes.NewReader(data))
		_ = c.CloseWrite()
		if err := ended(c); err != nil {
			t.Fatal(err)
		}
		if metrics := w.metrics(); !strings.Contains(metrics, "critical_service_responder_panics_total 0") {
			t.Fatal(metrics)
		}
	})
}

// This is what a responder meets that got no processor for a while.
func TestClientsThatComeAtOnceAreAllAnswered(t *testing.T) {
	w := start(t, 1, shop(), func(o *responder.Options) { o.MaxConnectionsPerListener = 4 })
	// A round in which the test itself gets no processor for the time that clients wait says nothing.
	NewWithT(t).Eventually(func() []string {
		var clients sync.WaitGroup
		answers := make([]string, 20)
		for i := range answers {
			clients.Go(func() {
				status, _, _, err := get(t.Context(), w.url(0, "/"))
				answers[i] = fmt.Sprint(status, " ", err)
			})
		}
		clients.Wait()
		return answers
	}, timeout).Should(HaveEach("503 <nil>"))
}
