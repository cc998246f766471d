package responder_test

import (
	"io"
	"net/http"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/responder"
	"github.com/critical-service/operator/test/metrictable"
)

func TestTheTableOfMetricsIsWhatIsRegistered(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), func(o *responder.Options) { o.MaxConnections = 77 })
	g.Expect(w.text(0)).To(ContainSubstring("The shop is closed."))
	status, _, _, err := get(t.Context(), w.url(0, "/"), "User-Agent", listener.SelfTestAgent+"/test")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(status).To(Equal(http.StatusServiceUnavailable))
	g.Eventually(w.metrics, timeout).Should(And(
		ContainSubstring(`critical_service_responder_self_tests_total{port="web",protocol="http1",service="shop"} 1`),
		ContainSubstring(`critical_service_responder_answers_total{port="web",protocol="http1",service="shop",status="503"} 1`),
		ContainSubstring(`critical_service_responder_answer_duration_seconds_count{protocol="http1",service="shop",status="503"} 1`),
		ContainSubstring("critical_service_responder_connections_limit 77\n"),
	))
	metrictable.Check(g, "A responder", metrictable.Parse(g, []byte(w.metrics())))
}

func TestMetricsAreServedAsOpenMetricsToThoseWhoAskForIt(t *testing.T) {
	g := NewWithT(t)
	w := start(t, 1, shop(), nil)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+w.admin+"/metrics", http.NoBody)
	g.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("Accept", "application/openmetrics-text; version=1.0.0")
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	g.Expect(answer.Header.Get("Content-Type")).To(HavePrefix("application/openmetrics-text"))
	body, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(body)).To(HaveSuffix("# EOF\n"))
}
