//go:build e2e

package monitoring_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/testenv"
)

func TestWhatTheOperatorAppliesIsWhatPrometheusRuns(t *testing.T) {
	w := newWorld(t)
	w.prometheus("k8s", nil)
	w.Eventually(func() any { return w.configuration("k8s") }).ShouldNot(BeNil())
	w.Expect(w.jobs("k8s")()).To(BeEmpty(), "there is no policy yet")
	w.startOperator()
	policy, scraped := w.protected()
	w.label()

	w.Eventually(w.jobs("k8s")).Should(ConsistOf(slices.Collect(maps.Keys(scraped))))
	for kind := range names {
		w.Eventually(func() string { return w.accepted(kind, "k8s") }).Should(Equal("True"), kind)
		w.Expect(w.Events(w.applied(kind), "InvalidConfiguration")).To(BeEmpty(), kind)
	}
	w.Expect(w.prometheusOperator.String()).NotTo(Or(ContainSubstring("skipping"), ContainSubstring("rejected")))
	for _, job := range jobsOf(w.configuration("k8s")) {
		w.Expect(job).To(HaveKeyWithValue("honor_labels", true))
		w.Expect(job).To(HaveKeyWithValue("metrics_path", "/metrics"))
		if job["job_name"] == "podMonitor/critical-service-system/critical-service-responder/0" {
			w.Expect(job).To(HaveKeyWithValue("scheme", "http"))
			w.Expect(job).NotTo(Or(HaveKey("bearer_token_file"), HaveKey("authorization")), "no token is shown to who needs none")
			continue
		}
		w.Expect(job).To(HaveKeyWithValue("scheme", "https"))
		w.Expect(job).To(HaveKeyWithValue("bearer_token_file", mounted+"/token"))
		w.Expect(job["tls_config"]).To(HaveKeyWithValue("insecure_skip_verify", true))
	}
	w.Eventually(func() map[string]string { return w.rules("k8s") }).Should(HaveLen(1))
	for _, content := range w.rules("k8s") {
		w.Expect(content).To(MatchYAML(shippedRules(w)))
	}

	configuration, rules := w.mount("k8s")
	w.promtool("check", "config", configuration)
	w.promtool(append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rules...)...)
	prometheus := w.runPrometheus(configuration)
	found := func() (map[string]string, error) {
		targets, err := prometheus.Targets(t.Context())
		addresses := map[string]string{}
		for _, target := range targets.Active {
			addresses[target.ScrapePool] += target.DiscoveredLabels["__address__"]
		}
		return addresses, err
	}
	w.Eventually(found).Should(Equal(scraped), "the operator's and the responder's Pod, found under Prometheus's permissions, and no other")
	w.Eventually(func() (model.Value, error) {
		value, _, _, err := prometheus.Query(t.Context(), "critical_service_operator_leader", time.Now())
		return value, err
	}).Should(ConsistOf(HaveField("Value", model.SampleValue(1))), "by TLS, and with the token of Prometheus's account")
	w.Eventually(func() ([]string, error) { return loaded(w, prometheus) }).Should(ConsistOf(shippedAlerts(w)))

	w.Delete(policy)
	w.Eventually(w.jobs("k8s")).Should(BeEmpty())
	w.Eventually(func() map[string]string { return w.rules("k8s") }).Should(BeEmpty())
}

// The ServiceMonitor names the file of a token. It is the same test by which a rejection is seen at all.
func TestAPrometheusThatLetsMonitorsReadNoFilesRejectsTheServiceMonitorOnly(t *testing.T) {
	w := newWorld(t)
	w.prometheus("tenant", map[string]any{"arbitraryFSAccessThroughSMs": map[string]any{"deny": true}})
	w.startOperator()
	w.protected()
	w.label()
	for kind, accepted := range map[string]string{"ServiceMonitor": "False", "PodMonitor": "True", "PrometheusRule": "True"} {
		w.Eventually(func() string { return w.accepted(kind, "tenant") }).Should(Equal(accepted), kind)
	}
	w.Eventually(w.EventsOf(w.applied("ServiceMonitor"), "InvalidConfiguration")).ShouldNot(BeEmpty())
	w.Eventually(w.jobs("tenant")).Should(ConsistOf("podMonitor/critical-service-system/critical-service-responder/0"))
}

// loaded are the alerts that Prometheus has judged without an error.
func loaded(w *world, prometheus promv1.API) ([]string, error) {
	result, err := prometheus.Rules(w.t.Context(), nil)
	var alerts []string
	for _, group := range result.Groups {
		for _, rule := range group.Rules {
			if alert, isAlert := rule.(promv1.AlertingRule); isAlert && alert.Health == promv1.RuleHealthGood {
				alerts = append(alerts, alert.Name)
			}
		}
	}
	return alerts, err
}

// shippedRules are the groups of the manifest.
func shippedRules(w *world) string {
	rule := manifest(w)
	groups, err := yaml.Marshal(map[string]any{"groups": rule.Object["spec"].(map[string]any)["groups"]}) //nolint:forcetypeassert // It is ours.
	w.Expect(err).NotTo(HaveOccurred())
	return string(groups)
}

func shippedAlerts(w *world) (alerts []string) {
	groups, _, err := unstructured.NestedSlice(manifest(w).Object, "spec", "groups")
	w.Expect(err).NotTo(HaveOccurred())
	for _, group := range groups {
		for _, rule := range group.(map[string]any)["rules"].([]any) { //nolint:forcetypeassert // It is ours.
			if alert, isAlert := rule.(map[string]any)["alert"].(string); isAlert { //nolint:forcetypeassert // It is ours.
				alerts = append(alerts, alert)
			}
		}
	}
	w.Expect(alerts).NotTo(BeEmpty())
	return alerts
}

func manifest(w *world) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	content, err := os.ReadFile(testenv.Path("config/prometheus/rules.yaml"))
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(yaml.Unmarshal(content, &object.Object)).To(Succeed())
	return object
}
