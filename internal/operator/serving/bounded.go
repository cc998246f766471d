package serving

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"time"
)

const (
	// atOnce is how many requests are worked on at the same time.
	atOnce = 2
	// placeTimeout is how long a request waits for its turn.
	placeTimeout = 4 * time.Second
	// bodyTimeout is how long a body may take to arrive: the API server is near.
	bodyTimeout = 10 * time.Second
	// bodiesAtOnce is how many of the largest bodies are held at the same time, while
	// they arrive and until they are answered. Bodies of ordinary size are held besides.
	bodiesAtOnce = 4
)

var (
	errBusy    = errors.New("too many requests at once")
	errComplex = errors.New("too many values")
)

// Limits say how large a request may be.
type Limits struct {
	// Bytes is how many its body may have.
	Bytes int64
	// Values is how many values its JSON may hold, about: one is a few bytes in a body,
	// and in memory up to a hundred, or hundreds if it is an object or a list, which
	// counts as several.
	Values int
}

// Bounded serves requests within limits, and few of them at once. A body is read
// before the request gets its turn, and answered after it: a slow client keeps no
// other one waiting. Where large bodies need more room than there is, the oldest one
// that waits for its client makes room.
func Bounded(limits Limits, handler http.Handler) http.Handler {
	return &bounded{
		limits:  limits,
		handler: handler,
		places:  make(chan struct{}, atOnce),
		bodies:  bodies{most: bodiesAtOnce * limits.Bytes},
	}
}

type bounded struct {
	limits  Limits
	handler http.Handler
	places  chan struct{}
	bodies  bodies
}

// ServeHTTP answers one request.
func (b *bounded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := b.bodies.add(w, http.MaxBytesReader(w, r.Body, b.limits.Bytes))
	defer body.release()
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
	content, err := b.read(r, body)
	if err == nil {
		body.await(false)
		r.Body = io.NopCloser(bytes.NewReader(content))
		var answer answer
		if err = b.answer(&answer, r); err == nil {
			body.await(true)
			answer.send(w)
			return
		}
	}
	w.Header().Set("Connection", "close")
	http.Error(w, err.Error(), statusOf(err))
}

func (b *bounded) read(r *http.Request, from io.Reader) ([]byte, error) {
	if r.ContentLength > b.limits.Bytes {
		return nil, &http.MaxBytesError{Limit: b.limits.Bytes}
	}
	content, err := io.ReadAll(from)
	if err == nil && values(content) > b.limits.Values {
		err = errComplex
	}
	return content, err
}

// weight is as how many values an object or a list counts.
const weight = 4

// values counts what decoding makes of a body. What a text says is one value: each but the
// first of a list or of an object follows a comma.
func values(body []byte) int {
	count, inText := 0, false
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '"':
			inText = !inText
		case '\\':
			i++ // It escapes the next one, and stands in texts only.
		case ',':
			if !inText {
				count++
			}
		case '{', '[':
			if !inText {
				count += weight
			}
		}
	}
	return count
}

// answer has the request answered when it is its turn.
func (b *bounded) answer(into *answer, r *http.Request) error {
	ctx, cancel := context.WithTimeout(r.Context(), placeTimeout)
	defer cancel()
	select {
	case b.places <- struct{}{}:
	case <-ctx.Done():
		return errBusy
	}
	defer func() { <-b.places }()
	b.handler.ServeHTTP(into, r)
	return nil
}

func statusOf(err error) int {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.Is(err, errComplex):
		return http.StatusRequestEntityTooLarge
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable
	default:
		return http.StatusBadRequest
	}
}

// answer keeps an answer until its request has left its place.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header is that of the answer.
func (a *answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader keeps the status.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write keeps a piece.
func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// send sends what was kept to a client, which may have gone.
func (a *answer) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), a.header)
	if a.status != 0 {
		w.WriteHeader(a.status)
	}
	_, _ = w.Write(a.body.Bytes())
}
