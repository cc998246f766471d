package serving

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

var small = Limits{Bytes: 1000, Values: 10}

// echo answers with the body, as an API of its own status.
func echo(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusTeapot)
	_, _ = w.Write(body)
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(Bounded(small, handler))
	t.Cleanup(server.Close)
	return server
}

// undeclared hides how long a body is.
type undeclared struct{ io.Reader }

func TestWhatMayBeSent(t *testing.T) {
	server := serve(t, echo)
	for sentence, test := range map[string]struct {
		body io.Reader
		want int
	}{
		"a body within the limits":              {strings.NewReader(`{"a":1}`), http.StatusTeapot},
		"one without a length":                  {undeclared{strings.NewReader(`{"a":1}`)}, http.StatusTeapot},
		"nothing, which the handler judges":     {http.NoBody, http.StatusTeapot},
		"not one that is too long":              {strings.NewReader(strings.Repeat("a", 1001)), http.StatusRequestEntityTooLarge},
		"not one that turns out to be too long": {undeclared{strings.NewReader(strings.Repeat("a", 1001))}, http.StatusRequestEntityTooLarge},
		"a text of many commas and braces":      {strings.NewReader(`["` + strings.Repeat(`,{[\",`, 100) + `"]`), http.StatusTeapot},
		"as many values as are allowed":         {strings.NewReader("[" + strings.Repeat("1,", 6) + "1]"), http.StatusTeapot},
		"not one more":                          {strings.NewReader("[" + strings.Repeat("1,", 7) + "1]"), http.StatusRequestEntityTooLarge},
		"not one of many objects":               {strings.NewReader(`{"a":{"a":{}}}`), http.StatusRequestEntityTooLarge},
		"not one of many values after a text":   {strings.NewReader(`["\\",` + strings.Repeat("1,", 7) + "1]"), http.StatusRequestEntityTooLarge},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			response, err := http.Post(server.URL, "application/json", test.body)
			g.Expect(err).NotTo(HaveOccurred())
			defer response.Body.Close()
			g.Expect(response.StatusCode).To(Equal(test.want))
			if test.want == http.StatusTeapot {
				g.Expect(response.Header.Get("Content-Type")).To(Equal("application/json"))
			}
		})
	}
}

// post opens a connection and sends the beginning of a request.
func post(t *testing.T, server *httptest.Server, length, body string) net.Conn {
	t.Helper()
	g := NewWithT(t)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = connection.Close() })
	_, err = io.WriteString(connection, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: "+length+"\r\n\r\n"+body)
	g.Expect(err).NotTo(HaveOccurred())
	return connection
}

func TestSlowClientsKeepNoOtherOneWaiting(t *testing.T) {
	g := NewWithT(t)
	server := serve(t, echo)
	for range 100 {
		post(t, server, "1000", "{")
	}
	response, err := http.Post(server.URL, "application/json", strings.NewReader("{}"))
	g.Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	g.Expect(response.StatusCode).To(Equal(http.StatusTeapot))
}

func TestFewRequestsAreWorkedOnAtOnce(t *testing.T) {
	g := NewWithT(t)
	begun, end := make(chan struct{}), make(chan struct{})
	bounds := Bounded(small, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-end
	}))
	ask := func(ctx context.Context) int {
		recorder := httptest.NewRecorder()
		bounds.ServeHTTP(recorder, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("{}")))
		return recorder.Code
	}
	answers := make(chan int, atOnce)
	for range atOnce {
		go func() { answers <- ask(t.Context()) }()
		<-begun
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	g.Expect(ask(impatient)).To(Equal(http.StatusServiceUnavailable))
	close(end)
	for range atOnce {
		g.Expect(<-answers).To(Equal(http.StatusOK))
	}
}

func TestAPanicLeavesItsPlace(t *testing.T) {
	g := NewWithT(t)
	panics := true
	bounds := Bounded(small, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if panics {
			panic("as a handler does")
		}
	}))
	for range atOnce {
		g.Expect(func() {
			bounds.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/", http.NoBody))
		}).To(Panic())
	}
	panics = false
	recorder := httptest.NewRecorder()
	bounds.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
	g.Expect(recorder.Code).To(Equal(http.StatusOK))
}
