package prober

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/ports"
)

func TestClassify(t *testing.T) {
	tests := map[string]struct {
		err  error
		want Fault
	}{
		"a refused connection": {
			err: &net.OpError{Op: "dial", Err: fmt.Errorf("connect: %w", syscall.ECONNREFUSED)}, want: Refused,
		},
		"a connection reset by the peer":              {err: fmt.Errorf("read: %w", syscall.ECONNRESET), want: Reset},
		"a connection closed before the answer":       {err: fmt.Errorf("Get: %w", io.EOF), want: Reset},
		"an answer that breaks off":                   {err: io.ErrUnexpectedEOF, want: Reset},
		"no route to the host":                        {err: fmt.Errorf("connect: %w", syscall.EHOSTUNREACH), want: Unreachable},
		"a deadline":                                  {err: fmt.Errorf("Get: %w", context.DeadlineExceeded), want: Timeout},
		"a timeout of the system":                     {err: &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}, want: Timeout},
		"a name that does not resolve, even by delay": {err: &net.DNSError{IsTimeout: true}, want: DNS},
		"anything else":                               {err: errors.New("malformed HTTP response"), want: Other},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Classify(test.err)).To(Equal(test.want))
		})
	}
}

func TestValidate(t *testing.T) {
	good := Prober{URL: "http://shop.example:80/", Rate: 100, Timeout: time.Second}
	tests := map[string]struct {
		change func(*Prober)
		want   string
	}{
		"good settings are accepted":   {change: func(*Prober) {}},
		"a URL needs a scheme":         {change: func(p *Prober) { p.URL = "shop/" }, want: "http://HOST:PORT/PATH"},
		"a URL needs a host":           {change: func(p *Prober) { p.URL = "http:///x" }, want: "http://HOST:PORT/PATH"},
		"a rate of nothing is refused": {change: func(p *Prober) { p.Rate = 0 }, want: "1 to 1000"},
		"a flood is refused":           {change: func(p *Prober) { p.Rate = 1001 }, want: "1 to 1000"},
		"a timeout must be positive":   {change: func(p *Prober) { p.Timeout = 0 }, want: "for example 1s"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			p := good
			test.change(&p)
			if test.want == "" {
				g.Expect(p.Validate()).To(Succeed())
				return
			}
			g.Expect(p.Validate()).To(MatchError(ContainSubstring(test.want)))
		})
	}
}

func TestSequencerHandsResultsOnInTheOrderOfSending(t *testing.T) {
	g := NewWithT(t)
	var order []int
	s := sequencer{each: func(r Result) { order = append(order, r.N) }}
	for _, n := range []int{2, 0, 1, 4} {
		s.add(Result{N: n})
	}
	g.Expect(order).To(Equal([]int{0, 1, 2}), "4 waits for 3")
	s.add(Result{N: 3})
	g.Expect(order).To(Equal([]int{0, 1, 2, 3, 4}))
}

// runUntil probes until enough results satisfy the condition.
func runUntil(t *testing.T, p Prober, enough func([]Result) bool) []Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var results []Result
	err := p.Run(ctx, func(r Result) {
		results = append(results, r)
		if enough(results) {
			cancel()
		}
	})
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(enough(results)).To(BeTrue(), "results: %+v", results)
	return results
}

func count(n int) func([]Result) bool {
	return func(results []Result) bool { return len(results) >= n }
}

func TestTheHeaderNamesTheAnswererAndAnErrorPageIsAnAnswer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(AnsweredByHeader, "fallback")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer server.Close()
	for _, r := range runUntil(t, Prober{URL: server.URL, Rate: 200, Timeout: 10 * time.Second}, count(5)) {
		g := NewWithT(t)
		g.Expect(r.Answered()).To(BeTrue())
		g.Expect(r.By).To(Equal("fallback"))
		g.Expect(r.Status).To(Equal(503))
	}
}

func TestTheFirstLineOfTheBodyNamesAServerThatSendsNoHeader(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "nginx\nsecond line\n")
	}))
	defer server.Close()
	results := runUntil(t, Prober{URL: server.URL, Rate: 200, Timeout: 10 * time.Second}, count(1))
	NewWithT(t).Expect(results[0].By).To(Equal("nginx"))
}

func TestAnAnswerThatBreaksOffIsNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(AnsweredByHeader, "shop")
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(w, "only this\n")
	}))
	defer server.Close()
	results := runUntil(t, Prober{URL: server.URL, Rate: 200, Timeout: 10 * time.Second}, count(1))
	NewWithT(t).Expect(results[0]).To(And(HaveField("Fault", Reset), HaveField("By", ""), HaveField("Status", 0)))
}

func TestAMarkInTheBodyNamesItsServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html>\n<p>We will be back.</p>\n")
	}))
	defer server.Close()
	probe := Prober{URL: server.URL, Rate: 200, Timeout: 10 * time.Second, Marks: map[string]string{"We will be back": "page"}}
	results := runUntil(t, probe, count(1))
	NewWithT(t).Expect(results[0].By).To(Equal("page"))
}

func TestATimeoutSaysWhatWasWaitedFor(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	results := runUntil(t, Prober{URL: "http://" + listener.Addr().String(), Rate: 200, Timeout: 3 * time.Second}, count(1))
	NewWithT(t).Expect(results[0]).To(And(HaveField("Fault", Timeout), HaveField("Detail", "connected, without an answer")))
}

func TestNothingListens(t *testing.T) {
	results := runUntil(t, Prober{URL: "http://" + ports.Free(t), Rate: 200, Timeout: 10 * time.Second}, count(3))
	NewWithT(t).Expect(results).To(HaveEach(HaveField("Fault", Refused)))
}

// TestAHangingRequestHidesNothing is the reason for the open loop: the server swallows the first
// request, and the later ones are answered long before that one gives up.
func TestAHangingRequestHidesNothing(t *testing.T) {
	g := NewWithT(t)
	first := make(chan struct{}, 1)
	first <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-first:
			<-r.Context().Done()
		default:
			w.Header().Set(AnsweredByHeader, "shop")
		}
	}))
	defer server.Close()
	results := runUntil(t, Prober{URL: server.URL, Rate: 30, Timeout: 5 * time.Second}, count(20))

	g.Expect(results).To(ContainElement(HaveField("Fault", Timeout)))
	hung, others := 0, 0
	for n, r := range results {
		g.Expect(r.N).To(Equal(n), "results come in the order of sending")
		if r.Fault == Timeout {
			hung++
			continue
		}
		if r.Sent.Before(results[0].Sent.Add(5 * time.Second)) {
			others++
		}
	}
	g.Expect(hung).To(Equal(1))
	g.Expect(others).To(BeNumerically(">=", 18), "requests went on leaving while the first one hung")
}

func TestEveryRequestOpensItsOwnConnection(t *testing.T) {
	g := NewWithT(t)
	remote := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { remote <- r.RemoteAddr }))
	defer server.Close()
	runUntil(t, Prober{URL: server.URL, Rate: 200, Timeout: 10 * time.Second}, count(10))
	close(remote)
	seen := map[string]bool{}
	for peer := range remote {
		g.Expect(seen).NotTo(HaveKey(peer))
		seen[peer] = true
	}
	g.Expect(len(seen)).To(BeNumerically(">=", 10))
}

func TestConnectionsAreKeptWhereThatIsAskedFor(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	runUntil(t, Prober{URL: server.URL, Rate: 200, Timeout: 10 * time.Second, KeepAlive: true}, func(results []Result) bool {
		return len(results) > int(opened.Load())
	})
}

func TestLinesAreReadBackAsTheyWereWritten(t *testing.T) {
	g := NewWithT(t)
	written := script("ab.?")
	written[0].Latency = 12 * time.Millisecond
	var lines bytes.Buffer
	write, failed := WriteLines(&lines)
	for _, r := range written {
		write(r)
	}
	g.Expect(failed()).NotTo(HaveOccurred())
	g.Expect(strings.Count(lines.String(), "\n")).To(Equal(4))

	var read []Result
	g.Expect(ReadLines(&lines, func(r Result) { read = append(read, r) })).To(Succeed())
	g.Expect(read).To(Equal(written))
}

func TestALineThatIsNoResultIsQuoted(t *testing.T) {
	err := ReadLines(strings.NewReader("Error: rate 0 is out of range\n"), func(Result) {})
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("rate 0 is out of range")))
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestAFailedWriteIsReported(t *testing.T) {
	write, failed := WriteLines(brokenPipe{})
	write(Result{})
	NewWithT(t).Expect(failed()).To(MatchError(syscall.EPIPE))
}
