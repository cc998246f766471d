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
