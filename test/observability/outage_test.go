//go:build e2e

package observability

import (
	"crypto/tls"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

const (
	firing  = "firing"
	pending = "pending"
)

// TestAnOutageAsPrometheusSeesIt is the whole story, from a calm day through an outage and
// back, and then one without an operator.
func TestAnOutageAsPrometheusSeesIt(t *testing.T) {
	s := newShop(t)
	application := s.application()
	service := s.service(storefront, criticalv2.Fallback{Page: &criticalv2.PageFallback{Message: pageSentence, Replicas: new(int32(2))}})
	s.service(ledger, criticalv2.Fallback{Service: &criticalv2.BackupFallback{Name: "nowhere"}})
	s.becomes(storefront, criticalv2.StateArmed)
	s.becomes(ledger, criticalv2.StateArming)

	token := s.token()
	server := startPrometheus(t, token, s.clients(service), operatorNamespace, s.namespace)
	s.Eventually(server.value(`count(up{job=~"pods-.*"} == 1)`)).Should(BeNumerically("==", 4), func() string {
		return "two replicas of the operator and two responders are scraped:\n" + server.scraped()
	})
	s.metricsAreClean(server, token)

	// A calm day: the ledger has no fallback, and the standby of the storefront is tested.
	s.Eventually(server.value(`critical_service_failover_ready{service="storefront"}`)).Should(BeNumerically("==", 1))
	s.Eventually(server.alert("CriticalServiceFailoverNotReady", ledger)).Should(Equal(firing))
	s.Expect(server.alert("CriticalServiceFailoverNotReady", storefront)()).To(BeEmpty())
	enough := `count_over_time(critical_service_state{service="storefront",state="Armed"}[5m])`
	s.Eventually(server.value(enough)).Should(BeNumerically(">", 15), "seconds that were seen before the outage")

	began := time.Now()
	s.Expect(scale(s.ctx, application, 0)).To(Succeed())
	s.becomes(storefront, criticalv2.StateCovered)
	s.becomes(ledger, criticalv2.StateExposed)
	s.Eventually(server.alert("CriticalServiceExposed", ledger)).Should(Equal(firing))
	s.Eventually(server.alert("CriticalServiceCovered", storefront)).Should(Equal(firing))
	s.Expect(server.alert("CriticalServiceExposed", storefront)()).To(BeEmpty(), "it is covered")
	s.Expect(server.alert("CriticalServiceFailoverNotReady", ledger)()).To(BeEmpty(), "Exposed says it louder")
	s.Eventually(server.value(`sum(rate(critical_service_responder_answers_total{service="storefront"}[10s]))`)).
		Should(BeNumerically(">", rate/2), "answers of the responders")
	server.answersTheDashboard(began.Add(-15*time.Second), false)

	s.Expect(scale(s.ctx, application, 2)).To(Succeed())
	s.becomes(storefront, criticalv2.StateArmed)
	s.Eventually(server.alert("CriticalServiceExposed", ledger)).Should(BeEmpty())
	s.Eventually(server.alert("CriticalServiceCovered", storefront)).Should(BeEmpty())
	s.Eventually(server.value(`sum(critical_service_outage_duration_seconds_count{fallback="page"})`)).Should(BeNumerically(">", 0))
	s.Eventually(server.value(`count_over_time(critical_service_state{service="storefront",state="Armed"}[10s])`)).
		Should(BeNumerically(">=", 9), "10 seconds after the outage")
	server.answersTheDashboard(began.Add(-15*time.Second), true)
	server.missesWhatIsMissing(began)
	s.pendingBeforeFiring(server, began)
	s.drawn(recording{server, began.Add(-15 * time.Second), time.Now(), began})

	// Two more make three within 30 minutes.
	s.Expect(server.alert("CriticalServiceFlapping", storefront)()).To(BeEmpty())
	for range 2 {
		s.Expect(scale(s.ctx, application, 0)).To(Succeed())
		s.becomes(storefront, criticalv2.StateCovered)
		s.Expect(scale(s.ctx, application, 2)).To(Succeed())
		s.becomes(storefront, criticalv2.StateArmed)
	}
	s.Eventually(server.alert("CriticalServiceFlapping", storefront)).Should(Equal(firing))

	s.withoutOperator(server)
}

// pendingBeforeFiring looks back: an alert waits as long as it should before it fires.
func (s *shop) pendingBeforeFiring(server *server, began time.Time) {
	s.t.Helper()
	for alert, service := range map[string]string{"CriticalServiceCovered": storefront, "CriticalServiceExposed": ledger} {
		var states []string
		series := server.over(`ALERTS{alertname="`+alert+`",service="`+service+`"}`, began, time.Now())
		slices.SortFunc(series, func(a, b *sample) int { return a.Values[0].Timestamp.Time().Compare(b.Values[0].Timestamp.Time()) })
		for _, each := range series {
			states = append(states, string(each.Metric["alertstate"]))
		}
		s.Expect(states).To(Equal([]string{pending, firing}), alert)
	}
}

// withoutOperator stops the operator, which is an alert, and starts it again. Alerts of
// Services go on as they were.
func (s *shop) withoutOperator(server *server) {
	s.t.Helper()
	s.Eventually(server.alert("CriticalServiceFailoverNotReady", ledger)).Should(Equal(firing))
	s.Eventually(server.value(`count(ALERTS{alertname=~"CriticalServiceExposed|CriticalServiceCovered"}) or vector(0)`)).Should(BeNumerically("==", 0))
	s.Expect(server.alert("CriticalServiceOperatorAbsent", "")()).To(BeEmpty())
	stopped := time.Now()
	operator := client.ObjectKey{Namespace: operatorNamespace, Name: operatorName}
	var deployment appsv1.Deployment
	s.Expect(shared.Get(s.ctx, operator, &deployment)).To(Succeed())
	before := *deployment.Spec.Replicas
	s.t.Cleanup(func() {
		s.Expect(scale(s.ctx, operator, before)).To(Succeed())
		s.Expect(operatorRuns(s.ctx)).To(Succeed())
	})
	s.Expect(scale(s.ctx, operator, 0)).To(Succeed())
	s.Eventually(server.alert("CriticalServiceOperatorAbsent", "")).Should(Equal(firing))
	s.Expect(scale(s.ctx, operator, before)).To(Succeed())
	s.Eventually(server.alert("CriticalServiceOperatorAbsent", "")).Should(BeEmpty())
	s.Eventually(server.value(`critical_service_state{service="ledger",state="Arming"}`)).Should(BeNumerically("==", 1), "the new leader tells")

	remembered := server.over(`ALERTS{alertname="CriticalServiceFailoverNotReady",service="ledger",alertstate="firing"}`, stopped, time.Now())
	s.Expect(remembered).To(HaveLen(1), "an alert that fires goes on through a restart")
	s.Expect(remembered[0].Values[len(remembered[0].Values)-1].Timestamp.Time().Sub(stopped)).To(
		BeNumerically("~", time.Since(stopped), 5*interval), "and to its end")
	quiet := server.over(`ALERTS{alertname=~"CriticalServiceExposed|CriticalServiceCovered"}`, stopped, time.Now())
	s.Expect(quiet).To(BeEmpty(), "a restart of the operator is no outage")
}

// metricsAreClean holds what operator and responder export to promtool's rules.
func (s *shop) metricsAreClean(server *server, token string) {
	s.t.Helper()
	insecure := &http.Transport{TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // The operator's certificate is made at start, for no particular name.
		MinVersion:         tls.VersionTLS12,
	}}
	s.t.Cleanup(insecure.CloseIdleConnections)
	targets, err := server.Targets(s.ctx)
	s.Expect(err).NotTo(HaveOccurred())
	looked := map[string]bool{}
	for _, target := range targets.Active {
		if target.ScrapePool == "clients" || target.Health != promv1.HealthGood {
			continue // A Pod of an older version may be on its way out.
		}
		shown := ""
		if strings.HasPrefix(target.ScrapeURL, "https://") {
			shown = token
			response, err := scrape(target.ScrapeURL, "", insecure)
			s.Expect(err).NotTo(HaveOccurred())
			_ = response.Body.Close()
			s.Expect(response.StatusCode).To(Equal(http.StatusUnauthorized), "no one reads metrics without a token")
		}
		response, err := scrape(target.ScrapeURL, shown, insecure)
		s.Expect(err).NotTo(HaveOccurred())
		body, err := io.ReadAll(response.Body)
		s.Expect(err).NotTo(HaveOccurred())
		_ = response.Body.Close()
		s.Expect(response.StatusCode).To(Equal(http.StatusOK))
		s.Expect(string(body)).To(ContainSubstring("\ncritical_service_"))
		check := exec.Command(filepath.Join(programs, "promtool"), "check", "metrics")
		check.Stdin = strings.NewReader(string(body))
		output, _ := check.CombinedOutput()
		for line := range strings.Lines(string(output)) {
			// The libraries' own metrics are not ours to name; what is no complaint about a metric is about the whole.
			s.Expect(line).To(MatchRegexp(`^(go|process|controller_runtime|workqueue|rest_client|leader_election|certwatcher|promhttp|apiserver|authentication|authorization|webhooks)_`),
				"promtool check metrics of %s", target.ScrapeURL)
		}
		looked[target.ScrapePool] = true
	}
	s.Expect(looked).To(HaveLen(2), "operator and responders were looked at")
}
