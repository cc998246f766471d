package view

import (
	"errors"
	"io"
	"net/http"

	"k8s.io/client-go/rest"
)

// maxPage is how many bytes of a page are read. Tenants write the objects, of which each may have more
// than 1 MiB, and what is decoded takes several times as much.
const maxPage = 4 << 20

var errTooLarge = errors.New("the page is too large")

// Bounded is a configuration by which no more of a page is read than a view holds in memory.
func Bounded(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &bounded{next} })
	return config
}

type bounded struct{ http.RoundTripper }

// WrappedRoundTripper is for the library, which cancels requests by it.
func (b *bounded) WrappedRoundTripper() http.RoundTripper { return b.RoundTripper }

// RoundTrip bounds the answer to a request for a page.
func (b *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(request)
	if err == nil && request.URL.Query().Has("limit") {
		answer.Body = &page{ReadCloser: answer.Body, left: maxPage}
	}
	return answer, err
}

// page is the body of an answer that ends with an error where it is too large.
type page struct {
	io.ReadCloser
	left int
}

func (p *page) Read(into []byte) (int, error) {
	if p.left == 0 {
		return 0, errTooLarge
	}
	read, err := p.ReadCloser.Read(into[:min(len(into), p.left)])
	p.left -= read
	return read, err
}
