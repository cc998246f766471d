package testenv

import (
	"net/http"
	"testing"

	. "github.com/onsi/gomega"
)

// pods is the nth write of Pods.
func pods(number int) nthWrite {
	return nthWrite{http.MethodPost, "pods", number}
}

func TestWithEachFaultNearlyAllMustCome(t *testing.T) {
	tests := map[string]struct {
		faults string
		came   map[nthWrite]*tally
		want   []string
	}{
		"all may come":                  {"all", map[nthWrite]*tally{pods(1): {100, 100}}, nil},
		"one in twenty may not":         {"all", map[nthWrite]*tally{pods(1): {100, 95}}, nil},
		"more must":                     {"all", map[nthWrite]*tally{pods(1): {100, 94}}, []string{"only 94 of all 100 faults came: at least 95 % must"}},
		"with a few faults fewer may":   {"few", map[nthWrite]*tally{pods(1): {100, 94}}, nil},
		"with one in three fewer, too":  {"", map[nthWrite]*tally{pods(1): {100, 94}}, nil},
		"what -run leaves out may not":  {"all", map[nthWrite]*tally{pods(1): {1, 1}}, nil},
		"with no fault there is no law": {"all", nil, nil},
		"a write that never comes again counts": {
			"all", map[nthWrite]*tally{pods(1): {81, 81}, pods(2): {9, 0}}, []string{"only 81 of all 90 faults came: at least 95 % must"},
		},
		"but not with a few faults": {"few", map[nthWrite]*tally{pods(1): {81, 81}, pods(2): {9, 0}}, nil},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			t.Setenv("FAULTS", test.faults)
			_, problems := (&series{faults: test.came}).summary(0, 9)
			NewWithT(t).Expect(problems).To(Equal(test.want))
		})
	}
}

func TestAStoryHasItsWritesUnlessRunLeavesSomeOut(t *testing.T) {
	tests := map[string]struct {
		lived int
		want  []string
	}{
		"all lives are of all writes": {2, []string{"only 1 of 1 writes came again"}},
		"some are of some":            {1, nil},
	}
	for sentence, test := range tests {
		t.Run(sentence, func(t *testing.T) {
			s := &series{faults: map[nthWrite]*tally{pods(1): {1, 1}}, planned: 2, lived: test.lived}
			_, problems := s.summary(2, 1)
			NewWithT(t).Expect(problems).To(Equal(test.want))
		})
	}
}

// A life is expected once, however often it is tried.
func TestAFaultIsExpectedWhenItsLifeIsLived(t *testing.T) {
	g, lives := NewWithT(t), 0
	s := &series{faults: map[nthWrite]*tally{}, live: func(_ *testing.T, fate *Fate) string {
		lives++
		if lives == 2 {
			fate.Interfere(Request{Method: http.MethodPost, Path: "/api/v1/namespaces/shop/pods"})
		}
		return ""
	}}
	s.group(t, "when", func(t *testing.T) {
		g.Expect(s.faults).To(BeEmpty())
		s.befall(t, "it is lost", func() *Fate {
			fate := NewFate()
			fate.struck = pods(1)
			return fate
		})
	})
	g.Expect(s.faults).To(Equal(map[nthWrite]*tally{pods(1): {1, 1}}))
	g.Expect([]int{lives, s.planned, s.lived}).To(Equal([]int{2, 1, 1}))
}
