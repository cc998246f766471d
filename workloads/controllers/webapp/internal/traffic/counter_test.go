package traffic

import (
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

const counter = "http_requests_total"

func TestTheSeriesOfACounterAreAddedUp(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want float64
	}{
		"one series":                         {"http_requests_total 12\n", 12},
		"several":                            {"http_requests_total{code=\"200\"} 12\nhttp_requests_total{code=\"500\"} 3\n", 15},
		"beside others":                      {"# TYPE http_requests_total counter\nhttp_requests_total 1\nup 9\nhttp_requests_total_other 9\n", 1},
		"with a time":                        {"http_requests_total 12 1700000000000\n", 12},
		"with an exemplar":                   {"http_requests_total{a=\"b\"} 12 # {trace_id=\"x\"} 1 170.0\n", 12},
		"with a power of ten":                {"http_requests_total 1.5e3\n", 1500},
		"labels with braces and quotes":      {"http_requests_total{path=\"/a}b\\\"c\"} 7\n", 7},
		"a value that is no number is none":  {"http_requests_total{a=\"1\"} NaN\nhttp_requests_total 2\n", 2},
		"a value below zero is none":         {"http_requests_total{a=\"1\"} -5\nhttp_requests_total 2\n", 2},
		"an infinite value is none":          {"http_requests_total{a=\"1\"} +Inf\nhttp_requests_total 2\n", 2},
		"a line that breaks off is none":     {"http_requests_total{a=\"1\nhttp_requests_total 2\n", 2},
		"a line without a value is none":     {"http_requests_total \nhttp_requests_total 2", 2},
		"a tabulator separates as a blank":   {"http_requests_total\t2\n", 2},
		"without a line's end at the bottom": {"http_requests_total 2", 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			total, err := sum(strings.NewReader(c.text), counter)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(total).To(Equal(c.want))
		})
	}
}

func TestWhatIsNoAnswerIsAnError(t *testing.T) {
	for sentence, c := range map[string]struct {
		text string
		want error
	}{
		"nothing":            {"", errNoCounter},
		"another page":       {"<html>not found</html>", errNoCounter},
		"a line too long":    {"http_requests_total 1\n" + strings.Repeat("x", maxLine+1), errTooLarge},
		"a text too long":    {strings.Repeat("up 1\n", maxBody/5+1) + "http_requests_total 1\n", errTooLarge},
		"a sum out of range": {strings.Repeat("http_requests_total 1e308\n", 3), errNoCounter},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := sum(strings.NewReader(c.text), counter)
			NewWithT(t).Expect(err).To(MatchError(c.want))
		})
	}
}

func FuzzSum(f *testing.F) {
	f.Add("http_requests_total{a=\"b\"} 1\n")
	f.Add("http_requests_total{a=\"\\\"}\"} 1e3 5 # {} 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		total, err := sum(strings.NewReader(text), counter)
		if err == nil && (math.IsNaN(total) || math.IsInf(total, 0) || total < 0) {
			t.Errorf("%v of %q", total, text)
		}
	})
}

func TestTheRateIsThatOfTheWindow(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	type at struct {
		seconds int
		count   float64
	}
	for sentence, c := range map[string]struct {
		readings []at
		now      int
		rate     float64
		known    bool
	}{
		"one reading says nothing":             {[]at{{0, 100}}, 0, 0, false},
		"two do":                               {[]at{{0, 100}, {5, 200}}, 5, 20, true},
		"two that are too close do not":        {[]at{{0, 100}, {1, 200}}, 1, 0, false},
		"only the window counts":               {[]at{{0, 0}, {5, 10_000}, {35, 10_300}, {40, 10_400}}, 40, 350.0 / 30, true},
		"a counter that began again waits":     {[]at{{0, 100}, {5, 200}, {10, 3}}, 10, 0, false},
		"and is known with its second reading": {[]at{{0, 100}, {5, 200}, {10, 3}, {15, 53}}, 15, 10, true},
		"what is old is not known":             {[]at{{0, 100}, {5, 200}}, 21, 0, false},
		"a clock that was set back waits":      {[]at{{10, 100}, {5, 200}}, 5, 0, false},
		"no traffic is a rate, too":            {[]at{{0, 100}, {5, 100}}, 5, 0, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			var s series
			for _, r := range c.readings {
				s.add(begin.Add(time.Duration(r.seconds)*time.Second), r.count)
			}
			known := s.isKnown(begin.Add(time.Duration(c.now) * time.Second))
			g.Expect(known).To(Equal(c.known))
			if known {
				g.Expect(rate([]*series{&s})).To(BeNumerically("~", c.rate, 1e-9))
			}
		})
	}
}

func TestReadingsAreFew(t *testing.T) {
	g := NewWithT(t)
	var s series
	for i := range 1000 {
		s.add(time.Unix(int64(5*i), 0), float64(i))
	}
	g.Expect(len(s.readings)).To(BeNumerically("<=", 8))
}
