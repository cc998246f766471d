// Package metrictable holds what a registry tells against docs/metrics.md, and
// against the conventions of Prometheus.
package metrictable

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// prefix begins the name of every metric of the project.
const prefix = "critical_service_"

// Row is one metric.
type Row struct {
	Name, Type, Unit, Labels, Help string
}

var row = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| ([a-z ]*) \\| ([a-z_`, ]*) \\| (.*) \\|$")

// Documented are the metrics that a section of docs/metrics.md lists.
func Documented(g gomega.Gomega, section string) []Row {
	_, thisFile, _, _ := runtime.Caller(0)
	page, err := os.ReadFile(filepath.Join(filepath.Dir(thisFile), "../../docs/metrics.md"))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
	g.Expect(found).To(gomega.BeTrue(), "docs/metrics.md has no section %q", section)
	text, _, _ = strings.Cut(text, "\n## ")
	var rows []Row
	for _, cells := range row.FindAllStringSubmatch(text, -1) {
		rows = append(rows, Row{cells[1], cells[2], cells[3], strings.ReplaceAll(cells[4], "`", ""), cells[5]})
	}
	return rows
}

// Registered are the metrics of the project among what was gathered. Each needs a
// sample, because without one a registry says nothing of it.
func Registered(families []*dto.MetricFamily) []Row {
	var rows []Row
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), prefix) {
			continue
		}
		var labels []string
		for _, label := range family.GetMetric()[0].GetLabel() {
			labels = append(labels, label.GetName())
		}
		slices.Sort(labels)
		unit := ""
		if strings.HasSuffix(family.GetName(), "_seconds") {
			unit = "seconds"
		}
		rows = append(rows, Row{
			family.GetName(), strings.ToLower(family.GetType().String()), unit, strings.Join(labels, ", "), family.GetHelp(),
		})
	}
	return rows
}

// Check wants a section of docs/metrics.md to list what was gathered, and nothing
// else, and all of it to follow the conventions of Prometheus.
func Check(g gomega.Gomega, section string, families []*dto.MetricFamily) {
	g.Expect(Registered(families)).NotTo(gomega.BeEmpty())
	g.Expect(Documented(g, section)).To(gomega.ConsistOf(Registered(families)), "docs/metrics.md, section %q", section)
	Lint(g, families)
}

// Lint wants the metrics of the project to follow the conventions of Prometheus, as
// `promtool check metrics` does.
func Lint(g gomega.Gomega, families []*dto.MetricFamily) {
	var ours []*dto.MetricFamily
	for _, family := range families {
		if strings.HasPrefix(family.GetName(), prefix) {
			ours = append(ours, family)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(problems).To(gomega.BeEmpty())
}

// Parse reads what an endpoint served in the text format.
func Parse(g gomega.Gomega, text []byte) []*dto.MetricFamily {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	g.Expect(err).NotTo(gomega.HaveOccurred())
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, family := range byName {
		families = append(families, family)
	}
	return families
}
