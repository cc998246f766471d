// Package suite runs the scorecard tests of an operator: a program with a list of checks, which the operators of this
// repository have each.
package suite

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"

	"github.com/critical-service/operator/internal/version"
	"github.com/critical-service/operator/test/scorecard/verdict"
	"github.com/critical-service/operator/test/scorecard/world"
)

// Suite are the tests of one operator.
type Suite struct {
	Operator world.Operator
	// AwaitTimeout is how long a test waits for one thing, if no flag says another: 90 s if it is zero.
	AwaitTimeout time.Duration
	// Checks are in the order in which a person would read them.
	Checks []Check
}

// Check is one test.
type Check struct {
	// Name is how scorecard calls it.
	Name string
	// Sentence says what must hold.
	Sentence string
	// Run does it, while the operator runs.
	Run func(context.Context, *world.World) error
}

// cleaning is how long the test may take to remove what it made, even if it was stopped: less than the
// 30 s that a Pod is given to end.
const cleaning = 20 * time.Second

// In runs the test in a world of its own, and cleans up after it, whatever happens.
func (c Check) In(ctx context.Context, w *world.World) v1alpha3.TestStatus {
	if w.Warnings != nil {
		w.Warnings.Journal = w.Journal
	}
	w.Journal.Say("Test %s of version %s: %s", c.Name, version.Version, c.Sentence)
	err := c.perform(ctx, w)
	if err != nil {
		w.Journal.Say("It does not pass: %v", err)
	}

	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleaning)
	defer cancel()
	w.Collect(after, "at-the-end")
	cleaned := w.CleanUp(after)
	if err == nil {
		err = cleaned
	} else if cleaned != nil {
		w.Journal.Say("What is more, %v", cleaned)
	}
	if stored := w.Evidence.Text("journal.txt", w.Journal.String()+"\n"); stored != nil {
		w.Journal.Say("No evidence was stored: %v", stored)
	}
	return w.Journal.Status(c.Name, err)
}

// perform turns a panic into an error, so that the test still cleans up and says what it saw.
func (c Check) perform(ctx context.Context, w *world.World) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			w.Journal.Say("%s", debug.Stack())
			err = verdict.Prevented("This is a defect of the test: please report it.", "the test panicked: %v", cause)
		}
	}()
	err = w.OperatorRuns(ctx)
	if err == nil {
		err = c.Run(ctx, w)
	}
	return verdict.CutShort(ctx, err)
}

// failure is the result of a test that could not even begin.
func (c Check) failure(err error) v1alpha3.TestStatus {
	journal := verdict.NewJournal()
	journal.Say("Test %s of version %s: %s", c.Name, version.Version, c.Sentence)
	return journal.Status(c.Name, fmt.Errorf("begin the test: %w", err))
}

// InOrder takes steps until one fails.
func InOrder(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}
