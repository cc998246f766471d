package prober

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

const interval = 100 * time.Millisecond

func at(n int) time.Time { return start.Add(time.Duration(n) * interval) }

// script reads "aab.": one character is one request, 100 ms apart; a letter is who answered it,
// "." a refused one and "?" one that timed out.
func script(text string) []Result {
	var results []Result
	for n, c := range text {
		result := Result{N: n, Sent: at(n)}
		switch c {
		case '.':
			result.Fault = Refused
		case '?':
			result.Fault = Timeout
		default:
			result.By, result.Status = string(c), 200
		}
		results = append(results, result)
	}
	return results
}

func TestSegments(t *testing.T) {
	tests := map[string]struct {
		results []Result
		want    []Segment
	}{
		"no request makes no segment": {},
		"one answerer makes one segment, which ends with its last request": {
			results: script("aaa"),
			want:    []Segment{{Who: "a", From: at(0), To: at(2), Requests: 3}},
		},
		"a segment lasts until the first request of the next one": {
			results: script("aab"),
			want: []Segment{
				{Who: "a", From: at(0), To: at(2), Requests: 2},
				{Who: "b", From: at(2), To: at(2), Requests: 1},
			},
		},
		"requests without an answer are one segment, whatever their faults": {
			results: script("a..?b"),
			want: []Segment{
				{Who: "a", From: at(0), To: at(1), Requests: 1},
				{Who: NoAnswer, From: at(1), To: at(4), Requests: 3, Faults: map[Fault]int{Refused: 2, Timeout: 1}},
				{Who: "b", From: at(4), To: at(4), Requests: 1},
			},
		},
		"the order of the results does not matter, the time of sending does": {
			results: []Result{script("ab")[1], script("ab")[0]},
			want: []Segment{
				{Who: "a", From: at(0), To: at(1), Requests: 1},
				{Who: "b", From: at(1), To: at(1), Requests: 1},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Segments(test.results)).To(Equal(test.want))
		})
	}
}

func TestTimelineSaysWhenTheAnswererChanges(t *testing.T) {
	g := NewWithT(t)
	var timeline Timeline
	var changes []bool
	for _, result := range script("aa.?bb") {
		changes = append(changes, timeline.Add(result))
	}
	g.Expect(changes).To(Equal([]bool{true, false, true, false, true, false}))
}

func TestSegmentsOfATimelineAreACopy(t *testing.T) {
	g := NewWithT(t)
	var timeline Timeline
	timeline.Add(script(".")[0])
	before := timeline.Segments()
	timeline.Add(script("..")[1])
	g.Expect(before).To(Equal([]Segment{{Who: NoAnswer, From: at(0), To: at(0), Requests: 1, Faults: map[Fault]int{Refused: 1}}}))
}

func TestSummarise(t *testing.T) {
	tests := map[string]struct {
		script string
		want   Summary
	}{
		"without a gap nothing is unanswered": {
			script: "aabb",
			want:   Summary{Requests: 4, Answered: map[string]int{"a": 2, "b": 2}, Faults: map[Fault]int{}},
		},
		"gaps add up and the longest is known": {
			script: "a..b...a",
			want: Summary{
				Requests: 8, Answered: map[string]int{"a": 2, "b": 1}, Faults: map[Fault]int{Refused: 5},
				Unanswered: 5 * interval, LongestGap: 3 * interval,
			},
		},
		"a gap at the end counts up to the last request": {
			script: "a.??",
			want: Summary{
				Requests: 4, Answered: map[string]int{"a": 1}, Faults: map[Fault]int{Refused: 1, Timeout: 2},
				Unanswered: 2 * interval, LongestGap: 2 * interval,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Summarise(Segments(script(test.script)))).To(Equal(test.want))
		})
	}
}

func TestPhases(t *testing.T) {
	none := map[Fault]int{}
	tests := map[string]struct {
		script string
		want   []Phase
	}{
		"long segments stay as they are": {
			script: "aaaabbbbb",
			want: []Phase{
				{From: at(0), To: at(4), Requests: map[string]int{"a": 4}, Faults: none},
				{From: at(4), To: at(8), Requests: map[string]int{"b": 5}, Faults: none},
			},
		},
		"one lost request does not cut a phase in two": {
			script: "aaaaaaaaaa.aaaabbbbb",
			want: []Phase{
				{From: at(0), To: at(15), Requests: map[string]int{"a": 14, NoAnswer: 1}, Faults: map[Fault]int{Refused: 1}},
				{From: at(15), To: at(19), Requests: map[string]int{"b": 5}, Faults: none},
			},
		},
		"a short stretch between two others joins the one before it": {
			script: "aaaa.bbbbb",
			want: []Phase{
				{From: at(0), To: at(5), Requests: map[string]int{"a": 4, NoAnswer: 1}, Faults: map[Fault]int{Refused: 1}},
				{From: at(5), To: at(9), Requests: map[string]int{"b": 5}, Faults: none},
			},
		},
		"an outage stays a phase of its own, and what comes after it too": {
			script: "aaaa...aaaaa",
			want: []Phase{
				{From: at(0), To: at(4), Requests: map[string]int{"a": 4}, Faults: none},
				{From: at(4), To: at(7), Requests: map[string]int{NoAnswer: 3}, Faults: map[Fault]int{Refused: 3}},
				{From: at(7), To: at(11), Requests: map[string]int{"a": 5}, Faults: none},
			},
		},
		"short neighbours are one mixed phase": {
			script: "aaaa.a..bbbbb",
			want: []Phase{
				{From: at(0), To: at(4), Requests: map[string]int{"a": 4}, Faults: none},
				{From: at(4), To: at(8), Requests: map[string]int{NoAnswer: 3, "a": 1}, Faults: map[Fault]int{Refused: 3}},
				{From: at(8), To: at(12), Requests: map[string]int{"b": 5}, Faults: none},
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(Phases(Segments(script(test.script)), 3*interval)).To(Equal(test.want))
		})
	}
}

func TestWhoOfAPhaseNamesTheBusiestFirst(t *testing.T) {
	phase := Phase{Requests: map[string]int{"b": 2, NoAnswer: 5, "a": 2}}
	NewWithT(t).Expect(phase.Who()).To(Equal([]string{NoAnswer, "a", "b"}))
}
