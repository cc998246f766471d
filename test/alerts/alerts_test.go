package alerts

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

const (
	root     = "../.."
	manifest = root + "/config/prometheus/rules.yaml"
	runbooks = "https://github.com/critical-service/operator/blob/main/docs/runbooks/"
)

// prometheusRule is what matters here of the manifest. The API of Prometheus Operator
// is not worth a module: promtool reads the groups as they are.
type prometheusRule struct {
	Kind string `json:"kind"`
	Spec struct {
		Groups []struct {
			Rules []rule `json:"rules"`
		} `json:"groups"`
	} `json:"spec"`
}

type rule struct {
	Alert       string            `json:"alert"`
	Record      string            `json:"record"`
	Expr        string            `json:"expr"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func parse(g Gomega) prometheusRule {
	var parsed prometheusRule
	g.Expect(yaml.Unmarshal([]byte(read(g, manifest)), &parsed)).To(Succeed())
	g.Expect(parsed.Kind).To(Equal("PrometheusRule"))
	return parsed
}

func allOf(g Gomega) (alerts []rule) {
	for _, group := range parse(g).Spec.Groups {
		for _, each := range group.Rules {
			if each.Alert != "" {
				alerts = append(alerts, each)
			}
		}
	}
	g.Expect(alerts).NotTo(BeEmpty())
	return alerts
}

func read(g Gomega, path string) string {
	content, err := os.ReadFile(path)
	g.Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// promtool is the program, which the test skips without: it is no part of Go. In CI,
// where CLIENTS_REQUIRED is set, nothing is left out silently.
func promtool(t *testing.T) string {
	t.Helper()
	folder, err := exec.Command(root+"/hack/prometheus.sh", "--present").Output()
	if err == nil {
		return filepath.Join(strings.TrimSpace(string(folder)), "promtool")
	}
	if os.Getenv("CLIENTS_REQUIRED") != "" {
		t.Fatal("promtool is missing, and CLIENTS_REQUIRED is set: run hack/prometheus.sh, which fetches it")
	}
	t.Skip("promtool is missing: run hack/prometheus.sh, which fetches it")
	return ""
}

// rulesIn writes the groups of the manifest as a file of rules into a new folder.
func rulesIn(g Gomega, t *testing.T) (folder string) {
	t.Helper()
	var whole struct {
		Spec map[string]any `json:"spec"`
	}
	g.Expect(yaml.Unmarshal([]byte(read(g, manifest)), &whole)).To(Succeed())
	groups, err := yaml.Marshal(whole.Spec)
	g.Expect(err).NotTo(HaveOccurred())
	folder = t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(folder, "rules.yaml"), groups, 0o600)).To(Succeed())
	return folder
}

func TestTheRulesAreValid(t *testing.T) {
	g := NewWithT(t)
	tool, folder := promtool(t), rulesIn(g, t)
	output, err := exec.Command(tool, "check", "rules", "--lint=all", "--lint-fatal", filepath.Join(folder, "rules.yaml")).CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), "%s", output)
}

func TestAlertsFireAndStaySilent(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(len(files)).To(BeNumerically(">", 5))
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			g := NewWithT(t)
			tool, folder := promtool(t), rulesIn(g, t)
			// A file of tests names the file of rules, and finds it beside itself.
			tests := filepath.Join(folder, "tests.yaml")
			g.Expect(os.WriteFile(tests, []byte(read(g, file)), 0o600)).To(Succeed())
			output, err := exec.Command(tool, "test", "rules", tests).CombinedOutput()
			g.Expect(err).NotTo(HaveOccurred(), "%s", output)
		})
	}
}

// TestEveryAlertIsTestedBothWays keeps an alert from being added without a test that it
// fires and one that it does not.
func TestEveryAlertIsTestedBothWays(t *testing.T) {
	g := NewWithT(t)
	fires, silent := map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("testdata/*.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	for _, file := range files {
		var content struct {
			Tests []struct {
				Name   string `json:"name"`
				Alerts []struct {
					Name string `json:"alertname"`
					Want []any  `json:"exp_alerts"`
				} `json:"alert_rule_test"`
			} `json:"tests"`
		}
		g.Expect(yaml.Unmarshal([]byte(read(g, file)), &content)).To(Succeed())
		for _, test := range content.Tests {
			fired := map[string]bool{}
			for _, at := range test.Alerts {
				fired[at.Name] = fired[at.Name] || len(at.Want) > 0
			}
			for alert, hasFired := range fired {
				fires[alert] = fires[alert] || hasFired
				// All through the test, and not just before it fires.
				silent[alert] = silent[alert] || !hasFired
			}
		}
	}
	for _, alert := range allOf(g) {
		g.Expect(fires).To(HaveKeyWithValue(alert.Alert, true), "no test sees %s fire", alert.Alert)
		g.Expect(silent).To(HaveKeyWithValue(alert.Alert, true), "no test sees %s stay silent from beginning to end", alert.Alert)
	}
}

func TestEveryAlertSaysWhatToDo(t *testing.T) {
	g := NewWithT(t)
	overview, index := read(g, root+"/docs/alerts.md"), read(g, root+"/docs/runbooks/README.md")
	for _, alert := range allOf(g) {
		g.Expect(alert.Labels).To(HaveKeyWithValue("severity", MatchRegexp("^(critical|warning)$")), alert.Alert)
		g.Expect(alert.Annotations["summary"]).To(HaveSuffix("."), "the summary of %s is a sentence", alert.Alert)
		g.Expect(alert.Annotations["description"]).To(MatchRegexp(`\.( [A-Z][a-z ]+: kubectl critsvc .+)?$`),
			"the description of %s is made of sentences, and may end with a command", alert.Alert)
		g.Expect(alert.Annotations["runbook_url"]).To(Equal(runbooks + alert.Alert + ".md"))
		page := read(g, root+"/docs/runbooks/"+alert.Alert+".md")
		for _, heading := range []string{"# " + alert.Alert, "## What it means", "## How to look", "## What to do", "## When it is a false alarm"} {
			g.Expect(page).To(ContainSubstring(heading+"\n"), "the runbook of %s", alert.Alert)
		}
		g.Expect(overview).To(ContainSubstring("[" + alert.Alert + "](runbooks/" + alert.Alert + ".md)"))
		g.Expect(index).To(ContainSubstring("[" + alert.Alert + "](" + alert.Alert + ".md)"))
		if alert.For != "" {
			g.Expect(overview).To(MatchRegexp(`\| \[`+alert.Alert+`\].*\| `+regexp.QuoteMeta(alert.For)+` \|`), "docs/alerts.md says after how long %s fires", alert.Alert)
		}
	}
}

var metric = regexp.MustCompile(`\bcritical_service_[a-z_]+`)

func TestTheRulesUseMetricsThatAreDocumented(t *testing.T) {
	g := NewWithT(t)
	page := read(g, root+"/docs/metrics.md")
	for _, group := range parse(g).Spec.Groups {
		for _, each := range group.Rules {
			names := metric.FindAllString(recorded.ReplaceAllString(each.Expr, ""), -1)
			for _, name := range names {
				g.Expect(page).To(ContainSubstring("`"+name+"`"), "%s%s uses %s", each.Alert, each.Record, name)
			}
		}
	}
}

// recorded are the names of recording rules, which have the metric's in them.
var recorded = regexp.MustCompile(`[a-z_]+:[a-z_]+:[a-z]+`)
