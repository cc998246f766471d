package main

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/prober"
)

func TestACellTellsTheMedianAndTheWorst(t *testing.T) {
	lost := func(unanswered time.Duration, failed, early int) measurement {
		return measurement{"v2": {Loss: prober.Loss{Unanswered: unanswered, Failed: failed}, early: early}}
	}
	tests := map[string]struct {
		variant *variant
		rounds  []measurement
		want    string
	}{
		"without an operator there is nothing to measure": {
			variant: &variant{name: "none"}, rounds: []measurement{{}}, want: "until the application is back",
		},
		"the median, the worst round, and the most requests lost": {
			variant: &variant{name: "v2", protected: true},
			rounds:  []measurement{lost(time.Second, 200, 0), lost(0, 0, 0), lost(250*time.Millisecond, 50, 0)},
			want:    "0.25 s, at most 1.00 s; 200 requests lost",
		},
		"what was lost while the Pod still listened is said": {
			variant: &variant{name: "v2", protected: true},
			rounds:  []measurement{lost(0, 0, 3)},
			want:    "0.00 s, at most 0.00 s; 0 requests lost (and 3 before the Pod stopped)",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(cell(test.variant, test.rounds)).To(Equal(test.want))
		})
	}
}

func TestTheLatestRequestsMustAgree(t *testing.T) {
	by := func(names ...string) *recorder {
		r := &recorder{}
		for _, name := range names {
			result := prober.Result{By: name}
			if name == "" {
				result.Fault = prober.Refused
			}
			r.results = append(r.results, result)
		}
		return r
	}
	tests := map[string]struct {
		recorder *recorder
		want     string
	}{
		"the same one three times":       {by("shop", "page", "page", "page"), "page"},
		"two in turns":                   {by("shop", "page", "shop"), "page and shop"},
		"one without an answer":          {by("page", "page", ""), "no answer: refused"},
		"fewer requests than are wanted": {by("page"), "too few requests yet"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(test.recorder.latest(3)).To(Equal(test.want))
		})
	}
}

func TestWhenAPodStoppedListening(t *testing.T) {
	began := time.Unix(1_800_000_000, 0)
	results := func(sent ...time.Duration) []prober.Result {
		all := []prober.Result{{Sent: began.Add(-5 * time.Second), By: shop}}
		for i, at := range sent {
			all = append(all, prober.Result{N: i + 1, Sent: began.Add(at), Fault: prober.Refused})
		}
		return all
	}
	for name, test := range map[string]struct {
		direct []prober.Result
		want   time.Duration
		fails  string
	}{
		"with the first request that it did not answer":           {results(3*time.Millisecond, 8*time.Millisecond), 3 * time.Millisecond, ""},
		"with the outage, which cut a request that was under way": {results(-time.Millisecond, 4*time.Millisecond), 0, ""},
		"not where it answers":                                    {results(), 0, "did not stop listening"},
		"not long before, which is another outage":                {results(-2 * time.Second), 0, "2s before the outage"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			at, err := stoppedIn(test.direct, began)
			if test.fails != "" {
				g.Expect(err).To(MatchError(ContainSubstring(test.fails)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(at.Sub(began)).To(Equal(test.want))
		})
	}
}
