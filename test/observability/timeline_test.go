//go:build e2e

package observability

import (
	"cmp"
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

// recording is what a Prometheus measured from when to when.
type recording struct {
	*server
	// zero is second 0 of the picture.
	start, end, zero time.Time
}

// drawn draws what was measured; with -update it becomes the picture of the documents.
func (s *shop) drawn(r recording) {
	s.t.Helper()
	state := r.band(`critical_service_state{service="storefront"} == 1`, "state", map[string]picture.Colour{
		"Arming": picture.Plain, "Armed": picture.OK, "Covered": picture.Warn, "Exposed": picture.Bad,
	})
	alert := r.band(`ALERTS{alertname="CriticalServiceCovered",service="storefront"}`, "alertstate",
		map[string]picture.Colour{pending: picture.Warn, firing: picture.Bad})
	measured := picture.Picture{
		Title: "An outage, as Prometheus measured it",
		Description: "Over time in seconds: the state of a Service goes from Armed to Covered and back; its real endpoints from two to none " +
			"and back; the answers of the application end, those of the fallback begin, and the other way round; no request is left without an " +
			"answer; the alert CriticalServiceCovered is pending, then firing, and resolves.",
		Command: "make observability TEST_ARGS='-args -update'",
		Start:   r.second(r.start), End: r.second(r.end),
		Lanes: []picture.Lane{
			{Label: "state", Pieces: state},
			{Label: "ready endpoints", Curves: []picture.Curve{
				r.curve(`critical_service_ready_endpoints{service="storefront"}`, picture.Curve{Name: "of its own", Colour: picture.Plain, Steps: true}),
			}},
			{Label: "answers per second", Curves: []picture.Curve{
				r.curve(`rate(outage_test_answers_total{by="shop"}[3s])`, picture.Curve{Name: "the application", Colour: picture.OK}),
				r.curve(`sum(rate(critical_service_responder_answers_total{service="storefront"}[3s])) or vector(0)`, picture.Curve{Name: "the fallback", Colour: picture.Warn}),
				r.curve(`rate(outage_test_answers_total{by="none"}[3s])`, picture.Curve{Name: "no answer", Colour: picture.Bad}),
			}},
			{Label: "CriticalServiceCovered", Pieces: alert},
		},
	}
	s.Expect(texts(state)).To(Equal([]string{"Armed", "Covered", "Armed"}), "the state over time")
	s.Expect(texts(alert)).To(Equal([]string{pending, firing}), "the alert over time")
	drawn, err := measured.SVG()
	s.Expect(err).NotTo(HaveOccurred())
	if *update {
		s.Expect(os.WriteFile(timeline, []byte(drawn), 0o600)).To(Succeed())
		return
	}
	committed, err := os.ReadFile(timeline)
	s.Expect(err).NotTo(HaveOccurred(), "run make observability TEST_ARGS='-args -update'")
	s.Expect(string(committed)).To(ContainSubstring(measured.Title), "the picture in the documents is of this test")
}

// texts are the words of a band, each once where a scrape was lost in between.
func texts(pieces []picture.Piece) []string {
	var all []string
	for _, piece := range pieces {
		all = append(all, piece.Text)
	}
	return slices.Compact(all)
}

// second is when a moment is in the picture.
func (r recording) second(at time.Time) float64 { return at.Sub(r.zero).Seconds() }

// band is what a label was from when to when.
func (r recording) band(query, label string, colours map[string]picture.Colour) []picture.Piece {
	var pieces []picture.Piece
	for _, series := range r.over(query, r.start, r.end) {
		text := string(series.Metric[model.LabelName(label)])
		for _, value := range series.Values {
			at := value.Timestamp.Time()
			from, to := r.second(at), r.second(at.Add(interval))
			last := len(pieces) - 1
			if last >= 0 && pieces[last].Text == text && from <= pieces[last].To {
				pieces[last].To = to
				continue
			}
			pieces = append(pieces, picture.Piece{From: from, To: to, Text: text, Colour: colours[text]})
		}
	}
	slices.SortFunc(pieces, func(a, b picture.Piece) int { return cmp.Compare(a.From, b.From) })
	return pieces
}

// curve is the one series of a query.
func (r recording) curve(query string, curve picture.Curve) picture.Curve {
	series := r.over(query, r.start, r.end)
	r.Expect(series).To(HaveLen(1), fmt.Sprintf("series of %s", query))
	for _, value := range series[0].Values {
		curve.Points = append(curve.Points, picture.Point{r.second(value.Timestamp.Time()), float64(value.Value)})
	}
	return curve
}
