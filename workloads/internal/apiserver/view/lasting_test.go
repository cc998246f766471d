package view_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/critical-service/operator/workloads/internal/apiserver/view"
)

// A watch begins before another request, and goes on after the limits of the server have ended that.
func TestAWatchOutlivesTheLimitsOfTheServer(t *testing.T) {
	g := NewWithT(t)
	cut := make(chan struct{})
	say := func(w http.ResponseWriter) error {
		_, failed := io.WriteString(w, "event\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			return err
		}
		return failed
	}
	serve := view.Lasting(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, _ := request.RequestInfoFrom(r.Context()); info.Verb == "watch" {
			if say(w) != nil {
				return
			}
			select {
			case <-cut:
				_ = say(w)
			case <-r.Context().Done():
			}
			return
		}
		defer close(cut)
		for say(w) == nil {
		}
	}))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve.ServeHTTP(w, r.WithContext(request.WithRequestInfo(r.Context(), &request.RequestInfo{Verb: r.URL.Query().Get("verb")})))
	}))
	// They run from the beginning of a request, whose answer has to begin meanwhile.
	server.Config.ReadTimeout, server.Config.WriteTimeout = 2*time.Second, 2*time.Second
	server.Start()
	t.Cleanup(server.Close)
	get := func(verb string) *http.Response {
		t.Helper()
		asked, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"?verb="+verb, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		answer, err := server.Client().Do(asked)
		g.Expect(err).NotTo(HaveOccurred())
		t.Cleanup(func() { answer.Body.Close() })
		return answer
	}
	watch := get("watch")
	_, err := io.Copy(io.Discard, get("list").Body)
	g.Expect(err).To(HaveOccurred(), "another request is cut")
	events, err := io.ReadAll(watch.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(events)).To(Equal("event\nevent\n"))
}
