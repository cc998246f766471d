//go:build e2e

package observability

import (
	"fmt"
	"os"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/common/model"

	"github.com/critical-service/operator/test/observability/picture"
)

const timeline = root + "/docs/images/outage-timeline.svg"

// sample is one series with its values over time.
type sample = model.SampleStream

// drawn draws what was measured; with -update it becomes the picture of the documents.
func (s *shop) drawn(server *server, start, end, began time.Time) {
	s.t.Helper()
	state := s.band(server, `critical_service_state{service="storefront"} == 1`, "state", start, end, map[string]picture.Colour{
		"Arming": picture.Plain, "Armed": picture.OK, "Covered": picture.Warn, "Exposed": picture.Bad,
	})
	alert := s.band(server, `ALERTS{alertname="CriticalServiceCovered",service="storefront"}`, "alertstate", start, end,
		map[string]picture.Colour{pending: picture.Warn, firing: picture.Bad})
	drawn := picture.Picture{
		Title: "An outage, as Prometheus measured it",
		Description: "Over time in seconds: the state of a Service goes from Armed to Covered and back; its real endpoints from two to none " +
			"and back; the answers of the application end, those of the fallback begin, and the other way round; no request is left without an " +
			"answer; the alert CriticalServiceCovered is pending, then firing, and resolves.",
		Start: start, End: end, Zero: began,
		Lanes: []picture.Lane{
			{Label: "state", Pieces: state},
			{Label: "ready endpoints", Curves: []picture.Curve{
				s.curve(server, `critical_service_ready_endpoints{service="storefront"}`, picture.Curve{Name: "of its own", Colour: picture.Plain, Steps: true}, start, end),
			}},
			{Label: "answers per second", Curves: []picture.Curve{
				s.curve(server, `rate(outage_test_answers_total{by="shop"}[3s])`, picture.Curve{Name: "the application", Colour: picture.OK}, start, end),
				s.curve(server, `sum(rate(critical_service_responder_answers_total{service="storefront"}[3s])) or vector(0)`, picture.Curve{Name: "the fallback", Colour: picture.Warn}, start, end),
				s.curve(server, `rate(outage_test_answers_total{by="none"}[3s])`, picture.Curve{Name: "no answer", Colour: picture.Bad}, start, end),
			}},
			{Label: "CriticalServiceCovered", Pieces: alert},
		},
	}
	s.Expect(texts(state)).To(Equal([]string{"Armed", "Covered", "Armed"}), "the state over time")
	s.Expect(texts(alert)).To(Equal([]string{pending, firing}), "the alert over time")
	svg := drawn.SVG()
	if *update {
		s.Expect(os.WriteFile(timeline, []byte(svg), 0o600)).To(Succeed())
		return
	}
	committed, err := os.ReadFile(timeline)
	s.Expect(err).NotTo(HaveOccurred(), "run make observability TEST_ARGS='-args -update'")
	s.Expect(string(committed)).To(ContainSubstring(drawn.Title), "the picture in the documents is of this test")
}

// texts are the words of a band, each once where a scrape was lost in between.
func texts(pieces []picture.Piece) []string {
	var all []string
	for _, piece := range pieces {
		all = append(all, piece.Text)
	}
	return slices.Compact(all)
}

// band is what a label was from when to when.
func (s *shop) band(server *server, query, label string, start, end time.Time, colours map[string]picture.Colour) []picture.Piece {
	var pieces []picture.Piece
	for _, series := range server.over(query, start, end) {
		text := string(series.Metric[model.LabelName(label)])
		for _, value := range series.Values {
			from := value.Timestamp.Time()
			last := len(pieces) - 1
			if last >= 0 && pieces[last].Text == text && !from.After(pieces[last].To) {
				pieces[last].To = from.Add(interval)
				continue
			}
			pieces = append(pieces, picture.Piece{From: from, To: from.Add(interval), Text: text, Colour: colours[text]})
		}
	}
	slices.SortFunc(pieces, func(a, b picture.Piece) int { return a.From.Compare(b.From) })
	return pieces
}

// curve is the one series of a query.
func (s *shop) curve(server *server, query string, curve picture.Curve, start, end time.Time) picture.Curve {
	s.t.Helper()
	series := server.over(query, start, end)
	s.Expect(series).To(HaveLen(1), fmt.Sprintf("series of %s", query))
	for _, value := range series[0].Values {
		curve.Points = append(curve.Points, picture.Point{At: value.Timestamp.Time(), Value: float64(value.Value)})
	}
	return curve
}
