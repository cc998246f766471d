package meter

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

// Without them a WebApp that refuses most of its traffic would seem to have little of it, and never grow.
func TestRefusedRequestsCountAsTraffic(t *testing.T) {
	for sentence, full := range map[string]func(*Meter) *places{
		"no place":             func(m *Meter) *places { return m.places },
		"no place for waiting": func(m *Meter) *places { return m.waiting },
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			m := New(Options{App: "127.0.0.1:1", Log: slog.New(slog.DiscardHandler)})
			for range cap(full(m).free) {
				_, ok := full(m).take()
				g.Expect(ok).To(BeTrue())
			}
			for range 3 {
				answer := httptest.NewRecorder()
				m.serve(answer, httptest.NewRequest(http.MethodGet, "/", http.NoBody))
				g.Expect(answer.Code).To(Equal(http.StatusServiceUnavailable))
				g.Expect(answer.Header().Get("Retry-After")).To(Equal("1"))
			}
			g.Expect(m.total.Load()).To(Equal(int64(3)))
		})
	}
}
