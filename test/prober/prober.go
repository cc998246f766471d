// Package prober asks one URL at a fixed rate and says who answered, and when there was no answer.
//
// It is an open loop: the next request leaves when it is due, whether or not the earlier ones have
// come back. A closed loop (ask, wait, ask again) stops asking while one request hangs, and so
// hides exactly the outage it should measure.
package prober

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// AnsweredByHeader names the response header in which a server says who it is.
const AnsweredByHeader = "X-Answered-By"

// maxName bounds the name taken from the body of a server that does not send AnsweredByHeader.
const maxName = 64

// maxBody bounds the part of a body in which marks are looked for.
const maxBody = 64 << 10

// Result is what became of one request.
type Result struct {
	// N counts the requests of a run from 0.
	N int `json:"n"`
	// Sent is the moment at which the request left.
	Sent time.Time `json:"sent"`
	// Latency is the time until the answer, or until the request was given up.
	Latency time.Duration `json:"latencyNanos"`
	// By is who answered; empty without an answer.
	By string `json:"by,omitempty"`
	// Status is the HTTP status of the answer; 0 without an answer.
	Status int `json:"status,omitempty"`
	// Fault is why there was no answer; empty when there was one.
	Fault Fault `json:"fault,omitempty"`
	// Detail is the error in full for a fault that has no class of its own, and for a Timeout what was waited for.
	Detail string `json:"detail,omitempty"`
}

// Answered reports whether there was an answer. Any HTTP status is an answer: a fallback says 503 on purpose.
func (r Result) Answered() bool { return r.Fault == "" }

// Prober is one run's target and pace.
type Prober struct {
	URL string
	// Rate is how many requests leave per second.
	Rate int
	// Timeout is how long one request may take, connect included.
	Timeout time.Duration
	// Marks name servers that do not say who they are: a text in the body of an answer, and who it
	// is the mark of. The header AnsweredByHeader wins over them.
	Marks map[string]string
	// KeepAlive lets requests follow each other on a connection. By default each opens its own: a kept one
	// would stay with the endpoint it once reached, whatever the Service does meanwhile.
	KeepAlive bool
	// Control may change the socket of a connection before it is opened, as that of net.Dialer; nil changes none.
	Control func(network, address string, socket syscall.RawConn) error
}

// Validate says what is wrong with the settings, in words for the person who gave them.
func (p Prober) Validate() error {
	target, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return fmt.Errorf("URL %q cannot be read: %w", p.URL, err)
	case target.Scheme != "http" && target.Scheme != "https", target.Host == "":
		return fmt.Errorf("URL %q is not complete: give it as http://HOST:PORT/PATH", p.URL)
	case p.Rate < 1 || p.Rate > 1000:
		return fmt.Errorf("rate %d is out of range: give 1 to 1000 requests per second", p.Rate)
	case p.Timeout <= 0:
		return fmt.Errorf("timeout %s is not positive: give for example 1s", p.Timeout)
	}
	return nil
}

// Run sends requests until ctx ends and then waits for those still in flight. It hands every result
// to each, one at a time, in the order in which the requests were sent.
func (p Prober) Run(ctx context.Context, each func(Result)) error {
	if err := p.Validate(); err != nil {
		return err
	}
	// A request in flight keeps its own time limit when the run ends, so that it is still counted.
	background := context.WithoutCancel(ctx)
	client := p.client()
	defer client.CloseIdleConnections()
	finished := make(chan Result, p.Rate)
	delivered := make(chan struct{})
	go func() {
		defer close(delivered)
		inOrder := sequencer{each: each}
		for result := range finished {
			inOrder.add(result)
		}
	}()

	var inFlight sync.WaitGroup
	p.pace(ctx, func(n int) {
		inFlight.Go(func() { finished <- p.ask(background, client, n) })
	})
	inFlight.Wait()
	close(finished)
	<-delivered
	return nil
}

// pace calls send at the fixed rate. The due times follow from the start, not from the previous
// request, so that a delay does not lower the rate.
func (p Prober) pace(ctx context.Context, send func(n int)) {
	interval := time.Second / time.Duration(p.Rate)
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for n := 0; ; n++ {
		timer.Reset(time.Until(start.Add(time.Duration(n) * interval)))
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			send(n)
		}
	}
}

func (p Prober) client() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DisableKeepAlives: !p.KeepAlive, MaxIdleConnsPerHost: p.Rate, DialContext: (&net.Dialer{Control: p.Control}).DialContext,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

func (p Prober) ask(ctx context.Context, client *http.Client, n int) Result {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout)
	defer cancel()
	result := Result{N: n, Sent: time.Now()}
	var connected atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }})
	var err error
	result.By, result.Status, err = p.get(ctx, client)
	result.Latency = time.Since(result.Sent)
	if err == nil {
		return result
	}
	result.By, result.Status = "", 0
	result.Fault = Classify(err)
	switch {
	case result.Fault == Other:
		result.Detail = err.Error()
	case result.Fault == Timeout && connected.Load():
		result.Detail = "connected, without an answer"
	case result.Fault == Timeout:
		result.Detail = "without a connection"
	}
	return result
}

func (p Prober) get(ctx context.Context, client *http.Client) (by string, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL, nil)
	if err != nil {
		return "", 0, err
	}
	request.Header.Set("User-Agent", "critical-service-prober")
	response, err := client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = response.Body.Close() }()
	// The body is read even when the header already names the server: an answer that breaks off is none.
	body, err := beginning(response.Body)
	if err != nil {
		return "", 0, err
	}
	if by = response.Header.Get(AnsweredByHeader); by == "" {
		by = p.name(body)
	}
	return by, response.StatusCode, nil
}

// name finds who sent a body: by its mark, else by its first line.
func (p Prober) name(body []byte) string {
	for mark, who := range p.Marks {
		if bytes.Contains(body, []byte(mark)) {
			return who
		}
	}
	first, _, _ := bytes.Cut(body, []byte("\n"))
	line := strings.TrimSpace(string(first))
	if len(line) > maxName {
		line = strings.ToValidUTF8(line[:maxName], "")
	}
	if line == "" {
		return "unnamed"
	}
	return line
}

// beginning reads all of a body, and returns what it begins with.
func beginning(body io.Reader) ([]byte, error) {
	kept, err := io.ReadAll(io.LimitReader(body, maxBody))
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(io.Discard, body); err != nil {
		return nil, err
	}
	return kept, nil
}

// sequencer hands results on in the order of N, holding back those that came early.
type sequencer struct {
	each  func(Result)
	early map[int]Result
	next  int
}

func (s *sequencer) add(result Result) {
	if s.early == nil {
		s.early = map[int]Result{}
	}
	s.early[result.N] = result
	for {
		due, found := s.early[s.next]
		if !found {
			return
		}
		delete(s.early, s.next)
		s.next++
		s.each(due)
	}
}
