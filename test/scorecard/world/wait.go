package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/critical-service/operator/test/scorecard/verdict"
)

// lookEach is how often a test looks for what it awaits.
const lookEach = 200 * time.Millisecond

// Observation is what a test sees when it looks for what it awaits.
type Observation struct {
	// Done says that this is what was awaited.
	Done bool
	// Text says what there is.
	Text string
	// Suggestion is what a person can do if this stays as it is.
	Suggestion string
}

// Await looks until what is awaited is there. What is seen goes into the journal whenever it changes, and
// the last observation into the error. An error of look is one more observation, unless it is final.
func (w *World) Await(ctx context.Context, awaited string, look func(context.Context) (Observation, error)) error {
	last := Observation{Text: "nothing yet"}
	var final error
	err := wait.PollUntilContextTimeout(ctx, lookEach, w.AwaitTimeout, true, func(ctx context.Context) (bool, error) {
		seen, err := look(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return false, nil // The look was cut short, and says nothing.
		case err != nil && verdict.Final(err):
			final = err
			return false, err
		case err != nil:
			seen = Observation{Text: err.Error()}
		}
		if seen.Text = oneLine(seen.Text); seen.Text != last.Text {
			w.Journal.Say("Seen: %s", seen.Text)
		}
		last = seen
		return seen.Done, nil
	})
	switch {
	case err == nil:
		w.Journal.Say("There is %s.", awaited)
		return nil
	case final != nil:
		return final
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return verdict.Failed(last.Suggestion, "the time of the test was over while it waited for %s; last seen: %s", awaited, last.Text)
	case ctx.Err() != nil:
		return verdict.CutShort(ctx, fmt.Errorf("waited for %s; last seen: %s", awaited, last.Text))
	default:
		return verdict.Failed(last.Suggestion, "waited %s for %s; last seen: %s", w.AwaitTimeout, awaited, last.Text)
	}
}

// selecting reads a selector that is written in the code.
func selecting(selector string) client.ListOption {
	parsed, err := labels.Parse(selector)
	if err != nil {
		panic(err)
	}
	return client.MatchingLabelsSelector{Selector: parsed}
}
