package prober

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestStopped(t *testing.T) {
	tests := map[string]struct {
		script  string
		at      time.Time
		stopped bool
	}{
		"a server that answers has not stopped":                    {script: "aaaa"},
		"the first request without an answer tells":                {script: "aaa..", at: at(3), stopped: true},
		"a request lost before the last answer does not count":     {script: "aa.a.?", at: at(4), stopped: true},
		"a server that was never there had stopped from the start": {script: "...", at: at(0), stopped: true},
		"another server at the same address does not count":        {script: "aa.bb", at: at(2), stopped: true},
		"nothing is known without a request":                       {},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			moment, stopped := Stopped(script(test.script), "a")
			g.Expect(stopped).To(Equal(test.stopped))
			g.Expect(moment).To(Equal(test.at))
		})
	}
}

func TestLost(t *testing.T) {
	tests := map[string]struct {
		script   string
		from, to int
		want     Loss
	}{
		"nothing is lost while every request is answered": {
			script: "aaaa", from: 0, to: 4, want: Loss{Requests: 4},
		},
		"only requests sent in the stretch count": {
			script: "a..aa", from: 2, to: 4,
			want: Loss{Requests: 2, Failed: 1, Unanswered: interval, Longest: interval},
		},
		"a change without a gap": {
			script: "aabb", from: 1, to: 4, want: Loss{Requests: 3, First: interval, Changed: true},
		},
		"gaps add up, and the longest is known": {
			script: "a.a..bb", from: 0, to: 7,
			want: Loss{Requests: 7, Failed: 3, Unanswered: 3 * interval, Longest: 2 * interval, First: 5 * interval, Changed: true},
		},
		"an outage that does not end": {
			script: "a...", from: 1, to: 4,
			want: Loss{Requests: 3, Failed: 3, Unanswered: 2 * interval, Longest: 2 * interval},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Lost(script(test.script), at(test.from), at(test.to), "a")).To(Equal(test.want))
		})
	}
}
