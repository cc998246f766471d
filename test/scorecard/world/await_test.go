package world

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/critical-service/operator/test/scorecard/verdict"
)

func waiting(awaitTimeout time.Duration) *World {
	return New("armed", &Surroundings{AwaitTimeout: awaitTimeout}, verdict.NewJournal())
}

func TestAwaitTellsEverythingItSeesOnce(t *testing.T) {
	g := NewWithT(t)
	w := waiting(time.Minute)
	looks := 0
	g.Expect(w.Await(t.Context(), "three looks", func(context.Context) (Observation, error) {
		looks++
		if looks == 2 {
			return Observation{}, errors.New("connection\nrefused")
		}
		return Observation{Done: looks == 3, Text: "a look"}, nil
	})).To(Succeed())
	g.Expect(w.Journal.String()).To(MatchRegexp("(?s)Seen: a look\n.*Seen: connection refused\n.*Seen: a look\n.*There is three looks."))
}

func TestAwaitEnds(t *testing.T) {
	over, end := context.WithCancelCause(t.Context())
	end(context.DeadlineExceeded)
	stopped, stop := context.WithCancel(t.Context())
	stop()
	for sentence, test := range map[string]struct {
		ctx          context.Context
		awaitTimeout time.Duration
		err          error
		want         string
	}{
		"after its timeout, with the last observation": {
			ctx: t.Context(), awaitTimeout: time.Millisecond, want: "waited 1ms for a slice; last seen: none",
		},
		"when the test has no more time": {
			ctx: over, awaitTimeout: time.Minute, want: "the time of the test was over while it waited for a slice; last seen: ",
		},
		"when the test is stopped": {
			ctx: stopped, awaitTimeout: time.Minute, want: "the test was stopped: waited for a slice; last seen: ",
		},
		"when it is no use to ask again": {
			ctx: t.Context(), awaitTimeout: time.Minute, err: verdict.Failed("", "it is wrong"), want: "it is wrong",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			err := waiting(test.awaitTimeout).Await(test.ctx, "a slice", func(context.Context) (Observation, error) {
				return Observation{Text: "none"}, test.err
			})
			g.Expect(err).To(MatchError(HavePrefix(test.want)))
		})
	}
}

func TestAWatchCountsInARowAndTellsItsStory(t *testing.T) {
	g := NewWithT(t)
	watch := &Watch{}
	at := time.Now()
	for _, by := range []string{ByApplication, ByApplication, ByNoOne, ByFallback, ByFallback} {
		watch.add(Answer{By: by}, at)
	}
	answer, inARow := watch.Now()
	g.Expect(answer.By).To(Equal(ByFallback))
	g.Expect(inARow).To(Equal(2))
	g.Expect(watch.String()).To(And(HavePrefix("5 requests, 1 of them lost\n"), ContainSubstring("2 times the application answers")))

	watch.Reset()
	_, inARow = watch.Now()
	g.Expect(inARow).To(BeZero(), "what was before does not count")
	watch.add(Answer{By: ByFallback, Detail: "another page"}, at)
	watch.add(Answer{By: ByFallback}, at)
	_, inARow = watch.Now()
	g.Expect(inARow).To(Equal(2), "it is the same who answers")
}
