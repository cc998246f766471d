package serving

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

// large is a limit above that of ordinary bodies.
var large = Limits{Bytes: 4 * ordinary, Values: 10}

func (l *bodies) inMemory() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.held
}

// beginning is that of a request with a body of some bytes.
func beginning(bytes int64) string {
	return fmt.Sprintf("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", bytes)
}

// send answers with the status of a request of some bytes.
func send(t *testing.T, server *httptest.Server, bytes int64) int {
	t.Helper()
	response, err := http.Post(server.URL, "application/json", strings.NewReader(strings.Repeat("a", int(bytes))))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	return response.StatusCode
}

func TestBodiesInMemoryAreBounded(t *testing.T) {
	g := NewWithT(t)
	bounds, _ := Bounded(large, http.HandlerFunc(echo)).(*bounded)
	server := httptest.NewServer(bounds)
	t.Cleanup(server.Close)
	var oldest io.Reader
	for i := range bodiesAtOnce {
		opened := post(t, server, fmt.Sprint(large.Bytes), strings.Repeat("a", int(large.Bytes-1)))
		g.Eventually(bounds.bodies.inMemory).Should(BeEquivalentTo(int64(i+1) * (large.Bytes - 1)))
		if i == 0 {
			oldest = opened
		}
	}
	g.Expect(send(t, server, ordinary)).To(Equal(http.StatusTeapot))
	g.Expect(bounds.bodies.inMemory()).To(BeEquivalentTo(bodiesAtOnce*(large.Bytes-1)), "it needs no room among them")

	g.Expect(send(t, server, large.Bytes)).To(Equal(http.StatusTeapot))
	_, err := io.ReadAll(oldest)
	g.Expect(err).To(Or(BeNil(), MatchError(ContainSubstring("reset"))), "the server closed it")
	g.Eventually(bounds.bodies.inMemory).Should(BeEquivalentTo((bodiesAtOnce-1)*(large.Bytes-1)), "the others still wait")

	server.CloseClientConnections()
	g.Eventually(bounds.bodies.inMemory).Should(BeZero())
}

func TestBodiesThatArrivedMakeNoRoom(t *testing.T) {
	g := NewWithT(t)
	begun, end := make(chan struct{}, bodiesAtOnce), make(chan struct{})
	bounds, _ := Bounded(large, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-end
	})).(*bounded)
	server := httptest.NewServer(bounds)
	t.Cleanup(server.Close)
	// Both places are taken, and the other bodies wait for one.
	answers := make(chan int, bodiesAtOnce)
	for range bodiesAtOnce {
		go func() { answers <- send(t, server, large.Bytes) }()
	}
	g.Eventually(func() bool { return bounds.bodies.arrived(bodiesAtOnce) }).Should(BeTrue())
	g.Expect(send(t, server, large.Bytes)).To(Equal(http.StatusServiceUnavailable))
	close(end)
	for range bodiesAtOnce {
		g.Expect(<-answers).To(Equal(http.StatusOK))
	}
	g.Eventually(bounds.bodies.inMemory).Should(BeZero())
}

// arrived reports whether so many large bodies are here, and all have arrived.
func (l *bodies) arrived(count int) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for _, b := range l.large {
		if b.awaits {
			return false
		}
	}
	return len(l.large) == count
}
