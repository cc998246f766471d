package meter

import (
	"net"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

// A server says that a connection is closed once its goroutine gets a processor.
func TestEachConnectionThatIsTooManyClosesAnother(t *testing.T) {
	g := NewWithT(t)
	bound := newLimit(1)
	var before net.Conn
	for range 3 {
		connection, other := net.Pipe()
		t.Cleanup(func() { _ = other.Close() })
		if closed := bound.note(connection, http.StateNew); before == nil {
			g.Expect(closed).To(BeNil())
		} else {
			g.Expect(closed).To(BeIdenticalTo(before), "the one that is idle for longest")
		}
		before = connection
	}
	g.Expect(bound.note(before, http.StateActive)).To(BeNil())
}
