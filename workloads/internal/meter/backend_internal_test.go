package meter

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// gunicorn closes an idle connection after two seconds. The meter must be the first.
func TestAnIdleConnectionToTheApplicationIsClosedBeforeTheApplicationDoes(t *testing.T) {
	for sentence, major := range map[string]int{"HTTP/1.1": 1, "HTTP/2": 2} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			var closed atomic.Int64
			app := httptest.NewUnstartedServer(http.NotFoundHandler())
			app.Config.Protocols = &http.Protocols{}
			app.Config.Protocols.SetHTTP1(true)
			app.Config.Protocols.SetUnencryptedHTTP2(true)
			app.Config.ConnState = func(_ net.Conn, state http.ConnState) {
				if state == http.StateClosed {
					closed.Add(1)
				}
			}
			app.Start()
			defer app.Close()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, app.URL, http.NoBody)
			g.Expect(err).NotTo(HaveOccurred())
			request.ProtoMajor = major
			response, err := newBackend(app.Listener.Addr().String()).RoundTrip(request)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(response.Body.Close()).To(Succeed())
			g.Expect(response.ProtoMajor).To(Equal(major))
			g.Eventually(closed.Load).WithTimeout(10 * time.Second).Should(Equal(int64(1)))
		})
	}
}
