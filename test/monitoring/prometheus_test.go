//go:build e2e

package monitoring_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/api"
	promv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"sigs.k8s.io/yaml"

	"github.com/critical-service/operator/test/ports"
	"github.com/critical-service/operator/test/process"
)

const (
	// mounted is where kubelet puts the token of a Pod, and mountedRules where Prometheus's Pod has its rules.
	mounted      = "/var/run/secrets/kubernetes.io/serviceaccount"
	mountedRules = "/etc/prometheus/rules/"
)

// mount writes what a Prometheus gets into a folder, with the paths of this folder. What is found to scrape is
// asked at this machine: all Pods are only in the API. It returns the file of the configuration, and those of rules.
func (w *world) mount(prometheus string) (configuration string, rules []string) {
	w.t.Helper()
	folder := w.t.TempDir()
	write := func(name string, content []byte) string {
		path := filepath.Join(folder, name)
		w.Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
		w.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
		return path
	}
	write("account/token", []byte(w.token))
	for name, content := range w.rules(prometheus) {
		rules = append(rules, write("rules/prometheus-"+prometheus+"-rulefiles-0/"+name, []byte(content)))
	}
	parsed := w.configuration(prometheus)
	for _, job := range jobsOf(parsed) {
		relabel, _ := job["relabel_configs"].([]any)
		job["relabel_configs"] = append(relabel, map[string]any{"target_label": "__address__", "replacement": w.metrics})
	}
	content, err := yaml.Marshal(parsed)
	w.Expect(err).NotTo(HaveOccurred())
	here := strings.NewReplacer(mounted, filepath.Join(folder, "account"), mountedRules, filepath.Join(folder, "rules")+"/",
		"$(SHARD)", "0", "$(POD_NAME)", "prometheus-"+prometheus+"-0") // What the Pod's reloader puts there.
	return write("prometheus.yaml", []byte(here.Replace(string(content)))), rules
}

// promtool wants it to be content with files.
func (w *world) promtool(arguments ...string) {
	w.t.Helper()
	output, err := exec.CommandContext(w.t.Context(), filepath.Join(programs, "promtool"), arguments...).CombinedOutput()
	w.Expect(err).NotTo(HaveOccurred(), "promtool %s: %s", strings.Join(arguments, " "), output)
}

// runPrometheus runs a Prometheus with a configuration until the test ends.
func (w *world) runPrometheus(configuration string) promv1.API {
	w.t.Helper()
	address := ports.Free(w.t)
	w.run("prometheus", "--config.file="+configuration, "--storage.tsdb.path="+w.t.TempDir(), "--web.listen-address="+address, "--log.level=warn")
	w.Eventually(func() error { return process.Get("http://" + address + "/-/ready") }).Should(Succeed())
	connection, err := api.NewClient(api.Config{Address: "http://" + address})
	w.Expect(err).NotTo(HaveOccurred())
	return promv1.NewAPI(connection)
}
