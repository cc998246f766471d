package invariant

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

func TestAServiceIsAnsweredWhileAtLeastHalfOfItsRequestsAre(t *testing.T) {
	for sentence, test := range map[string]struct {
		answered func(request int) bool
		want     int
	}{
		"all are answered":        {func(int) bool { return true }, 999},
		"none is":                 {func(int) bool { return false }, 0},
		"every second one is":     {func(request int) bool { return request%2 == 1 }, 999},
		"one in a hundred is":     {func(request int) bool { return request%100 == 99 }, 0},
		"all are but for the end": {func(request int) bool { return request < 900 }, 899},
		"all are again":           {func(request int) bool { return request < 100 || request >= 900 }, 999},
		"a few are again":         {func(request int) bool { return request < 100 || request >= 960 }, 99},
	} {
		t.Run(sentence, func(t *testing.T) {
			began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			answers := AnsweredAt(began)
			for request := range 1000 {
				answers.Add(began.Add(time.Duration(request)*time.Millisecond), test.answered(request))
			}
			NewWithT(t).Expect(answers.Latest().Sub(began).Milliseconds()).To(BeEquivalentTo(test.want))
		})
	}
}
