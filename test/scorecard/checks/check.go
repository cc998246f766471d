// Package checks are the scorecard tests: what each of them does, and what must come of it.
package checks

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

// Check is one test.
type Check struct {
	// Name is how scorecard calls it.
	Name string
	// Sentence says what must hold.
	Sentence string

	run func(context.Context, *world.World) error
}

// All are the tests, in the order in which a person would read them.
var All = []Check{
	{"armed", "A Service that a CriticalService matches becomes Armed.", armed},
	{"outage", "A real outage is answered by the fallback.", outage},
	{"recovery", "Recovery withdraws the fallback.", recovery},
	{"deletion", "Deleting the CriticalService leaves nothing of the operator's.", deletion},
	{"refusal", "Objects of the operator's kinds that are not valid are refused, with the documented message.", refusal},
	{"conversion", "Both API versions convert, and every example of the bundle is accepted.", conversion},
	{"restricted", "All that the operator makes conforms to Pod Security restricted.", restricted},
}

// cleaning is how long the test may take to remove what it made, even if it was stopped: less than the
// 30 s that a Pod is given to end.
const cleaning = 20 * time.Second

// Run runs the test and cleans up after it, whatever happens.
func (c Check) Run(ctx context.Context, surroundings *world.Surroundings) v1alpha3.TestStatus {
	return c.in(ctx, world.New(c.Name, surroundings, verdict.NewJournal()))
}

// in runs the test in a world.
func (c Check) in(ctx context.Context, w *world.World) v1alpha3.TestStatus {
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
		err = c.run(ctx, w)
	}
	return verdict.CutShort(ctx, err)
}

// Failure is the result of a test that could not even begin.
func (c Check) Failure(err error) v1alpha3.TestStatus {
	journal := verdict.NewJournal()
	journal.Say("Test %s of version %s: %s", c.Name, version.Version, c.Sentence)
	return journal.Status(c.Name, fmt.Errorf("begin the test: %w", err))
}
