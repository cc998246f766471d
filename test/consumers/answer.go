package consumers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/critical-service/operator/test/prober"
)

// Dial opens a connection from where a client is.
type Dial func(ctx context.Context, network, address string) (net.Conn, error)

// askLimit is longer than a proxy takes to give up an endpoint that refuses, and short enough for a
// Service whose packets go nowhere.
const askLimit = time.Second

// Client asks URLs, with a new connection for every request: a kept-alive one would stay with the
// endpoint it once reached.
type Client struct {
	http *http.Client
	// name says who an answer comes from; empty when it cannot tell.
	name func(response *http.Response, body []byte) string
}

// NewClient returns a client that dials by dial, or from this machine if that is nil.
func NewClient(dial Dial) *Client {
	if dial == nil {
		dial = (&net.Dialer{}).DialContext
	}
	return &Client{
		http: &http.Client{
			Timeout:   askLimit,
			Transport: &http.Transport{DisableKeepAlives: true, DialContext: dial},
			CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			},
		},
		name: func(response *http.Response, _ []byte) string { return response.Header.Get(prober.AnsweredByHeader) },
	}
}

// Naming lets name say who an answer comes from, where the header of the tests' own servers does not.
func (c *Client) Naming(name func(response *http.Response, body []byte) string) *Client {
	return &Client{http: c.http, name: func(response *http.Response, body []byte) string {
		if who := response.Header.Get(prober.AnsweredByHeader); who != "" {
			return who
		}
		return name(response, body)
	}}
}

// Ask makes one request and says who answered: a name, or "none" with the reason. What a proxy says
// for itself, such as its own 503, is no answer. The host may be empty.
func (c *Client) Ask(ctx context.Context, url, host string) string {
	who, err := c.ask(ctx, url, host)
	if err != nil {
		return fmt.Sprintf("none (%v)", err)
	}
	return who
}

func (c *Client) ask(ctx context.Context, url, host string) (who string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	if host != "" {
		request.Host = host
	}
	response, err := c.http.Do(request)
	if err != nil {
		return "", errors.New(string(prober.Classify(err)))
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return "", errors.New(string(prober.Classify(err)))
	}
	if who = c.name(response, body); who == "" {
		return "", fmt.Errorf("status %d", response.StatusCode)
	}
	return who, nil
}

// Status makes one request and returns the HTTP status, or 0 without an answer.
func (c *Client) Status(ctx context.Context, url string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0
	}
	response, err := c.http.Do(request)
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}
