package main

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/prober"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// requests are n requests 10 ms apart, all with the same fate, which begin at a moment of the story.
func requests(from time.Duration, n int, who string) []prober.Result {
	var results []prober.Result
	for i := range n {
		result := prober.Result{Sent: start.Add(from + time.Duration(i)*10*time.Millisecond)}
		if who == prober.NoAnswer {
			result.Fault = prober.Refused
		} else {
			result.By, result.Status = who, 200
		}
		results = append(results, result)
	}
	return results
}

func draw(t *testing.T, story func(*strip)) string {
	t.Helper()
	var out strings.Builder
	s := newStrip(&out, painter{})
	story(s)
	s.finish()
	return out.String()
}

func feed(s *strip, stretches ...[]prober.Result) {
	for _, stretch := range stretches {
		for _, result := range stretch {
			s.add(result)
		}
	}
}

func TestStrip(t *testing.T) {
	full := strings.Repeat("█", 50)
	tests := map[string]struct {
		story func(*strip)
		want  []string
	}{
		"nothing is drawn of nothing": {story: func(*strip) {}},
		"a second of one answerer is a row with its name": {
			story: func(s *strip) { feed(s, requests(0, 200, shop)) },
			want: []string{
				"    0 s  " + full + "  shop",
				"         ▸  0.00 s  shop answers",
				"    1 s  " + full + "  shop",
			},
		},
		"a failover shows who answered when, and how long there was no answer": {
			story: func(s *strip) {
				feed(s, requests(0, 50, shop), requests(500*time.Millisecond, 30, prober.NoAnswer),
					requests(800*time.Millisecond, 20, page))
			},
			want: []string{
				"    0 s  " + strings.Repeat("█", 25) + strings.Repeat("·", 15) + strings.Repeat("▒", 10) +
					"  shop 50, no answer 30, page 20",
				"         ▸  0.00 s  shop answers",
				"         ▸  0.50 s  no answer: connection refused",
				"         ▸  0.80 s  page answers, after 0.30 s without an answer",
			},
		},
		"a failover without a gap is said to be one": {
			story: func(s *strip) { feed(s, requests(0, 50, shop), requests(500*time.Millisecond, 50, page)) },
			want: []string{
				"    0 s  " + strings.Repeat("█", 25) + strings.Repeat("▒", 25) + "  page 50, shop 50",
				"         ▸  0.00 s  shop answers",
				"         ▸  0.50 s  page answers; no request was lost",
			},
		},
		"one request without an answer does not hide behind its neighbour": {
			story: func(s *strip) {
				feed(s, requests(0, 20, shop), requests(200*time.Millisecond, 1, prober.NoAnswer),
					requests(210*time.Millisecond, 79, shop))
			},
			want: []string{
				"    0 s  " + strings.Repeat("█", 10) + "·" + strings.Repeat("█", 39) + "  shop 99, no answer 1",
				"         ▸  0.00 s  shop answers",
			},
		},
		"a note stands after the row of its moment, and a long time without requests is blank": {
			story: func(s *strip) {
				feed(s, requests(0, 50, shop))
				s.say(start.Add(1500*time.Millisecond), "look")
				feed(s, requests(2*time.Second, 100, shop))
			},
			want: []string{
				"    0 s  " + strings.Repeat("█", 30) + strings.Repeat(" ", 20) + "  shop",
				"         ▸  0.00 s  shop answers",
				"    1 s  " + strings.Repeat(" ", 50) + "  ",
				"         ▸  1.50 s  look",
				"    2 s  " + full + "  shop",
			},
		},
		"a stranger's answer is seen": {
			story: func(s *strip) { feed(s, requests(0, 100, "nginx")) },
			want: []string{
				"    0 s  " + strings.Repeat("?", 50) + "  nginx",
				"         ▸  0.00 s  nginx answers",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := strings.Split(strings.TrimSuffix(draw(t, test.story), "\n"), "\n")
			if test.want == nil {
				test.want = []string{""}
			}
			NewWithT(t).Expect(got).To(Equal(test.want))
		})
	}
}

func TestTheGapIsCountedThroughTheMixOfAChangeover(t *testing.T) {
	g := NewWithT(t)
	drawn := draw(t, func(s *strip) {
		feed(s, requests(0, 50, shop),
			requests(500*time.Millisecond, 5, prober.NoAnswer), requests(550*time.Millisecond, 5, shop),
			requests(600*time.Millisecond, 20, prober.NoAnswer), requests(800*time.Millisecond, 5, page),
			requests(850*time.Millisecond, 5, prober.NoAnswer), requests(900*time.Millisecond, 50, page))
	})
	g.Expect(drawn).To(ContainSubstring("0.90 s  page answers, after 0.30 s without an answer"))
	g.Expect(strings.Count(drawn, "▸")).To(Equal(3), "%s", drawn)
}

func TestColourIsUsedOnlyWhereItIsWanted(t *testing.T) {
	g := NewWithT(t)
	g.Expect(painter{colour: true}.cell(shop)).To(Equal("\x1b[32m█\x1b[0m"))
	g.Expect(painter{}.cell(shop)).To(Equal("█"))
}
