package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheCounterCountsPagesAndNeitherProbesNorScrapes(t *testing.T) {
	g := NewWithT(t)
	handler := (&web{status: 200}).handler()
	get := func(path string) string {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, path, nil))
		return recorder.Body.String()
	}
	for _, path := range []string{"/", "/cart", "/db", "/readyz", "/healthz", "/metrics"} {
		get(path)
	}
	g.Expect(get("/metrics")).To(And(
		ContainSubstring("# TYPE http_requests_total counter\n"),
		ContainSubstring("http_requests_total{handler=\"page\"} 2\n"),
		ContainSubstring("http_requests_total{handler=\"database\"} 1\n"),
	))
}

func TestTheApplicationSaysWhatItsDatabaseSays(t *testing.T) {
	for sentence, test := range map[string]struct {
		packet string
		status int
		says   string
	}{
		"a server that greets":         {"\x12\x00\x00\x00\x0a10.11.6-MariaDB\x00x", 200, "The database is 10.11.6-MariaDB\n"},
		"a server that refuses":        {"\x0d\x00\x00\x00\xff\x1d\x04Back soon.", 503, "no database: ERROR 1053: Back soon.\n"},
		"a server of another protocol": {"\x02\x00\x00\x00HT", 503, `no greeting of MySQL: "HT"`},
		"one that says too much":       {"\x00\x00\x10\x00", 503, "a packet of 1048576 bytes"},
		"an empty packet":              {"\x00\x00\x00\x00", 503, "a packet of 0 bytes"},
		"one that ends too early":      {"\x12\x00", 503, "no greeting: unexpected EOF"},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			host, port, err := net.SplitHostPort(says(t, test.packet))
			g.Expect(err).NotTo(HaveOccurred())
			t.Setenv("DB_HOST", host)
			t.Setenv("DB_PORT", port)
			recorder := httptest.NewRecorder()
			(&web{name: "shop", status: 200}).handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/db", nil))
			g.Expect(recorder.Code).To(Equal(test.status))
			g.Expect(recorder.Body.String()).To(ContainSubstring(test.says))
			g.Expect(recorder.Header().Get("X-Answered-By")).To(Equal("shop"), "the answer is the application's")
		})
	}
}

func TestAnApplicationWithoutADatabaseSaysSo(t *testing.T) {
	g := NewWithT(t)
	t.Setenv("DB_HOST", "")
	recorder := httptest.NewRecorder()
	(&web{status: 200}).handler().ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/db", nil))
	g.Expect(recorder.Code).To(Equal(503))
	g.Expect(recorder.Body.String()).To(ContainSubstring("DB_HOST and DB_PORT are not set"))
}

// says is the address of a server that sends some bytes to each client, and closes.
func says(t *testing.T, packet string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = connection.Write([]byte(packet))
			_ = connection.Close()
		}
	}()
	return listener.Addr().String()
}
