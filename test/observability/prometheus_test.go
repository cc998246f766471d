//go:build e2e

package observability

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/ports"
)

// interval is how often this Prometheus scrapes and judges.
const interval = time.Second

// faster is by how much the durations that alerts wait (`for`) are shortened, so that
// CriticalServiceCovered takes 10 seconds instead of 5 minutes. Nothing else of the
// rules is changed; that the real durations are right is for test/alerts to say.
const faster = 30

// server is a Prometheus that runs for one test.
type server struct {
	promv1.API
	*WithT
	ctx context.Context
}

// startPrometheus runs a Prometheus that finds Pods of these namespaces, and scrapes the
// static target too. The token is what it shows to the operator.
func startPrometheus(t *testing.T, token, static string, namespaces ...string) *server {
	t.Helper()
	g := NewWithT(t)
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		g.Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
		return path
	}
	config := fmt.Sprintf(configuration, interval, write("rules.yaml", hurriedRules(g)), static, discovery(t, namespaces), write("token", token))
	address := ports.Free(t)
	logs, err := os.Create(filepath.Join(folder, "log"))
	g.Expect(err).NotTo(HaveOccurred())
	process := exec.Command(filepath.Join(programs, "prometheus"), "--config.file", write("prometheus.yaml", config),
		"--storage.tsdb.path", filepath.Join(folder, "data"), "--web.listen-address", address, "--log.level", "warn")
	process.Stdout, process.Stderr = logs, logs
	g.Expect(process.Start()).To(Succeed())
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	t.Cleanup(func() {
		_ = process.Process.Kill()
		if content, err := os.ReadFile(logs.Name()); err == nil && t.Failed() {
			t.Logf("Prometheus:\n%s", content)
		}
	})

	connection, err := api.NewClient(api.Config{Address: "http://" + address})
	g.Expect(err).NotTo(HaveOccurred())
	s := &server{API: promv1.NewAPI(connection), WithT: g, ctx: context.WithoutCancel(t.Context())}
	g.Eventually(func() error {
		select {
		case err := <-ended:
			return StopTrying("Prometheus has ended").Wrap(err)
		default:
		}
		response, err := http.Get("http://" + address + "/-/ready")
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", response.StatusCode)
		}
		return nil
	}).Should(Succeed(), "Prometheus is ready")
	return s
}

// configuration scrapes Pods as their annotations prometheus.io/... say: in https with a
// token, in http without one. What wants a token does not say prometheus.io/scrape, which is
// for jobs that show none. Labels of the metrics hold, as the ServiceMonitor has it.
const configuration = `
global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}
rule_files: [%[2]s]
scrape_configs:
- job_name: clients
  static_configs: [{targets: [%[3]s]}]
- job_name: pods-https
  scheme: https
  honor_labels: true
  http_sd_configs: &pods [{url: "http://%[4]s/", refresh_interval: %[1]s}]
  authorization: {credentials_file: %[5]s}
  tls_config: {insecure_skip_verify: true}
  relabel_configs:
  - {source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape, __meta_kubernetes_pod_annotation_prometheus_io_scheme], regex: ;https, action: keep}
  - &port {source_labels: [__meta_kubernetes_pod_ip, __meta_kubernetes_pod_annotation_prometheus_io_port], separator: ":", target_label: __address__}
  - &path {source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_path], target_label: __metrics_path__}
  - &namespace {source_labels: [__meta_kubernetes_namespace], target_label: namespace}
  - &pod {source_labels: [__meta_kubernetes_pod_name], target_label: pod}
- job_name: pods-http
  honor_labels: true
  http_sd_configs: *pods
  relabel_configs:
  - {source_labels: [__meta_kubernetes_pod_annotation_prometheus_io_scrape, __meta_kubernetes_pod_annotation_prometheus_io_scheme], regex: true;http, action: keep}
  - *port
  - *path
  - *namespace
  - *pod
`

// discovery tells Prometheus of the Pods of these namespaces as kubernetes_sd does, which
// Debian's build lacks: under the same names, so that the rest of the configuration is
// what it would be. It returns the address at which Prometheus asks.
func discovery(t *testing.T, namespaces []string) (address string) {
	t.Helper()
	type group struct {
		Targets []string          `json:"targets"`
		Labels  map[string]string `json:"labels"`
	}
	look := func(ctx context.Context) ([]group, error) {
		groups := []group{}
		for _, namespace := range namespaces {
			var pods corev1.PodList
			if err := shared.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
				return nil, err
			}
			for _, pod := range pods.Items {
				if pod.Status.PodIP == "" || pod.Status.Phase != corev1.PodRunning {
					continue
				}
				labels := map[string]string{
					"__meta_kubernetes_namespace": pod.Namespace, "__meta_kubernetes_pod_name": pod.Name, "__meta_kubernetes_pod_ip": pod.Status.PodIP,
				}
				for key, value := range pod.Annotations {
					labels["__meta_kubernetes_pod_annotation_"+notInNames.ReplaceAllString(key, "_")] = value
				}
				groups = append(groups, group{Targets: []string{pod.Status.PodIP}, Labels: labels})
			}
		}
		return groups, nil
	}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		groups, err := look(r.Context())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(groups)
	}))
	t.Cleanup(served.Close)
	return served.Listener.Addr().String()
}

// notInNames is what Prometheus replaces in names of labels.
var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_]`)

var waits = regexp.MustCompile(`(?m)^(\s*)for: (\S+)$`)

// hurriedRules are those of the manifest, with `for` shortened.
func hurriedRules(g *WithT) string {
	content, err := os.ReadFile(root + "/config/prometheus/rules.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	var manifest struct {
		Spec map[string]any `json:"spec"`
	}
	g.Expect(yaml.Unmarshal(content, &manifest)).To(Succeed())
	rules, err := yaml.Marshal(manifest.Spec)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(waits.FindAllString(string(rules), -1)).NotTo(BeEmpty())
	return waits.ReplaceAllStringFunc(string(rules), func(line string) string {
		parts := waits.FindStringSubmatch(line)
		wait, err := model.ParseDuration(parts[2])
		g.Expect(err).NotTo(HaveOccurred())
		return fmt.Sprintf("%sfor: %dms", parts[1], (time.Duration(wait) / faster).Milliseconds())
	})
}

// now is the answer to a query at this moment.
func (s *server) now(query string) (model.Vector, error) {
	value, _, _, err := s.Query(s.ctx, query, time.Now())
	if err != nil {
		return nil, err
	}
	vector, isVector := value.(model.Vector)
	if !isVector {
		return nil, fmt.Errorf("%s is a %s", query, value.Type())
	}
	return vector, nil
}

// scraped describes every target and what its last scrape ended with.
func (s *server) scraped() string {
	targets, err := s.Targets(s.ctx)
	if err != nil {
		return err.Error()
	}
	var described strings.Builder
	for _, target := range targets.Active {
		fmt.Fprintf(&described, "%s of Pod %s: %s %s\n", target.ScrapeURL, target.Labels["pod"], target.Health, target.LastError)
	}
	return described.String()
}

// value is the one value of a query, and -1 where it has none.
func (s *server) value(query string) func() (float64, error) {
	return func() (float64, error) {
		vector, err := s.now(query)
		if err != nil || len(vector) == 0 {
			return -1, err
		}
		return float64(vector[0].Value), nil
	}
}

// alert is how an alert is: firing, pending, or nothing.
func (s *server) alert(name, service string) func() (string, error) {
	return func() (string, error) {
		result, err := s.Alerts(s.ctx)
		if err != nil {
			return "", err
		}
		for _, alert := range result.Alerts {
			if string(alert.Labels["alertname"]) == name && string(alert.Labels["service"]) == service {
				return string(alert.State), nil
			}
		}
		return "", nil
	}
}

// course is what a query has given since a moment, at every scrape.
func (s *server) course(query string, start, end time.Time) (model.Matrix, error) {
	value, _, _, err := s.QueryRange(s.ctx, query, promv1.Range{Start: start, End: end, Step: interval})
	if err != nil {
		return nil, err
	}
	matrix, isMatrix := value.(model.Matrix)
	if !isMatrix {
		return nil, fmt.Errorf("%s is a %s over time", query, value.Type())
	}
	return matrix, nil
}

// over is the course of a query that has one.
func (s *server) over(query string, start, end time.Time) model.Matrix {
	matrix, err := s.course(query, start, end)
	s.Expect(err).NotTo(HaveOccurred(), query)
	return matrix
}
