package meter_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/workloads/internal/metering"
)

// In gRPC the client may wait for the application before it sends anything.
func TestAStreamBeginsBeforeTheClientSendsAnything(t *testing.T) {
	w := newWorld(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		control, messages := http.NewResponseController(rw), bufio.NewScanner(r.Body)
		_, _ = io.WriteString(rw, "hello\n")
		for control.Flush() == nil && messages.Scan() {
			_, _ = io.WriteString(rw, messages.Text()+"\n")
		}
	}))
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	client := http.Client{Transport: &http.Transport{Protocols: protocols}}
	body, send := io.Pipe()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+w.traffic, body)
	w.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Content-Type", "application/grpc+proto")
	response, err := client.Do(request)
	w.Expect(err).NotTo(HaveOccurred())
	defer func() { _ = response.Body.Close() }()
	w.Expect(response.StatusCode).To(Equal(http.StatusOK))
	answers := bufio.NewReader(response.Body)
	w.Expect(answers.ReadString('\n')).To(Equal("hello\n"))
	for _, message := range []string{"one\n", "two\n"} {
		_, err := io.WriteString(send, message)
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(answers.ReadString('\n')).To(Equal(message))
	}
	w.Expect(send.Close()).To(Succeed())
}

// What ends a request must be the same to the meter and to the application: no request hides in
// another.
func TestARequestThatEndsInTwoWaysReachesTheApplicationInOne(t *testing.T) {
	for sentence, c := range map[string]struct {
		request string
		status  int
		seen    string
	}{
		"two lengths": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", http.StatusBadRequest, ""},
		"a length and chunks": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
			http.StatusOK, "/ hello;"},
		"an encoding that is not known": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", http.StatusNotImplemented, ""},
		"two encodings": {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
			http.StatusNotImplemented, ""},
		"a blank before the colon": {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length : 5\r\n\r\nhello", http.StatusBadRequest, ""},
		"no host":                  {"GET / HTTP/1.1\r\n\r\n", http.StatusBadRequest, ""},
		"two hosts":                {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", http.StatusBadRequest, ""},
		"header fields of 40 KiB":  {"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 40<<10) + "\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			seen := make(chan string, 10)
			w := newWorld(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				seen <- r.URL.Path + " " + string(body) + ";"
			}))
			connection, err := net.Dial("tcp", w.traffic)
			w.Expect(err).NotTo(HaveOccurred())
			defer func() { _ = connection.Close() }()
			_, err = io.WriteString(connection, c.request)
			w.Expect(err).NotTo(HaveOccurred())
			response, err := http.ReadResponse(bufio.NewReader(connection), nil)
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(response.StatusCode).To(Equal(c.status))
			if c.seen != "" {
				w.Expect(seen).To(Receive(Equal(c.seen)))
			}
			w.Expect(seen).NotTo(Receive())
		})
	}
}

// The second port is open to every Pod of the cluster, and connections cost memory.
func TestIdleConnectionsToTheMetricsMakeRoom(t *testing.T) {
	w := newWorld(t, http.NotFoundHandler())
	var all []net.Conn
	for range 64 {
		connection, err := net.Dial("tcp", w.metrics)
		w.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { _ = connection.Close() })
		all = append(all, connection)
	}
	// The server itself ends it after ten seconds.
	w.Expect(all[0].SetReadDeadline(time.Now().Add(5 * time.Second))).To(Succeed())
	_, err := all[0].Read(make([]byte, 1))
	w.Expect(err).To(Or(MatchError(io.EOF), MatchError(ContainSubstring("reset"))))
	w.Expect(status(w.metrics, metering.LivePath)).To(Equal(http.StatusOK))
}
