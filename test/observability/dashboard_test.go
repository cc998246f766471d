//go:build e2e

package observability

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"
)

// dashboard is what Grafana would ask of Prometheus.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []target
	}
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
	Annotations struct {
		List []struct{ Name, Expr string }
	}
}

type target struct {
	RefID, Expr string
	Instant     bool
}

// labelValues is the function by which variables are filled, with its selector and label.
var labelValues = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)

// answersTheDashboard asks everything that the dashboard asks when it shows the time since a
// moment, for all namespaces and Services. A query that Prometheus refuses, or that has no
// answer, fails; after the outage an answer must have a number in it as well: what is divided
// by nothing has none.
func (s *server) answersTheDashboard(since time.Time, numbers bool) {
	content, err := os.ReadFile(root + "/config/grafana/critical-service-operator.json")
	s.Expect(err).NotTo(HaveOccurred())
	var board dashboard
	s.Expect(json.Unmarshal(content, &board)).To(Succeed())
	var problems []string
	asked := 0
	ask := func(what string, answer func() error) {
		asked++
		if err := answer(); err != nil {
			problems = append(problems, what+": "+err.Error())
		}
	}
	for _, variable := range board.Templating.List {
		if variable.Type == "query" {
			ask("variable "+variable.Name, func() error { return s.fills(filled(variable.Query, since), since) })
		}
	}
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			ask("panel "+panel.Title+", query "+target.RefID, func() error { return s.answers(target, since, numbers) })
		}
	}
	for _, annotation := range board.Annotations.List {
		ask("annotation "+annotation.Name, func() error { return s.answers(target{Expr: annotation.Expr}, since, numbers) })
	}
	s.Expect(problems).To(BeEmpty())
	s.Expect(asked).To(BeNumerically(">", 30))
}

// missesWhatIsMissing sees that a query without an answer, one that is wrong, and one without a
// number would be noticed.
func (s *server) missesWhatIsMissing(since time.Time) {
	none, broken, undivided := `critical_service_nothing`, `sum by (`, `0 * up / 0`
	for _, instant := range []bool{true, false} {
		s.Expect(s.answers(target{Expr: none, Instant: instant}, since, false)).To(MatchError(ContainSubstring("has no answer")))
		s.Expect(s.answers(target{Expr: broken, Instant: instant}, since, false)).To(MatchError(ContainSubstring("parse error")))
		s.Expect(s.answers(target{Expr: undivided, Instant: instant}, since, true)).To(MatchError(ContainSubstring("has no number")))
		s.Expect(s.answers(target{Expr: undivided, Instant: instant}, since, false)).To(Succeed())
	}
	s.Expect(s.fills(`label_values(critical_service_nothing, namespace)`, since)).To(MatchError(ContainSubstring("has no values")))
}

// filled puts in what Grafana puts in: the variables, and the ranges that fit the graph.
func filled(query string, since time.Time) string {
	shown := fmt.Sprintf("%.0fs", time.Since(since).Seconds())
	return strings.NewReplacer("$__rate_interval", (4 * interval).String(), "$__range", shown, "$namespace", ".*", "$service", ".*").Replace(query)
}

func (s *server) fills(query string, since time.Time) error {
	parts := labelValues.FindStringSubmatch(query)
	if parts == nil {
		return fmt.Errorf("%s is not label_values(SELECTOR, LABEL)", query)
	}
	values, _, _, err := s.LabelValues(s.ctx, parts[2], []string{parts[1]}, since, time.Now())
	if err != nil {
		return err
	}
	if len(values) == 0 {
		return fmt.Errorf("%s has no values", query)
	}
	return nil
}

func (s *server) answers(of target, since time.Time, numbers bool) error {
	query := filled(of.Expr, since)
	var found []model.SampleValue
	if of.Instant {
		vector, err := s.now(query)
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		for _, each := range vector {
			found = append(found, each.Value)
		}
	} else {
		matrix, err := s.course(query, since, time.Now())
		if err != nil {
			return fmt.Errorf("%s: %w", query, err)
		}
		for _, series := range matrix {
			for _, each := range series.Values {
				found = append(found, each.Value)
			}
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("%s has no answer", query)
	}
	for _, value := range found {
		if !numbers || !math.IsNaN(float64(value)) {
			return nil
		}
	}
	return fmt.Errorf("%s has no number", query)
}
