// Package suitetest tests scorecard tests: that they pass with a good operator, and that they can fail.
package suitetest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/operator-framework/api/pkg/apis/scorecard/v1alpha3"

	"github.com/critical-service/operator/test/scorecard/suite"
	"github.com/critical-service/operator/test/scorecard/world"
)

// Check is the test of a suite with a name.
func Check(t *testing.T, of suite.Suite, name string) suite.Check {
	t.Helper()
	for _, check := range of.Checks {
		if check.Name == name {
			return check
		}
	}
	t.Fatalf("there is no test %q", name)
	return suite.Check{}
}

// Run runs a test, and returns what scorecard gets.
func Run(t *testing.T, check suite.Check, w *world.World) v1alpha3.TestResult {
	t.Helper()
	return only(t, check.In(t.Context(), w))
}

func only(t *testing.T, status v1alpha3.TestStatus) v1alpha3.TestResult {
	t.Helper()
	if len(status.Results) != 1 {
		t.Fatalf("the test gave %d results", len(status.Results))
	}
	return status.Results[0]
}

// UntilSeen runs a test whose time is over as soon as its journal has, after one text, another. It would wait until its
// timeout otherwise. How long it takes to come so far is not bounded here: each of its steps has a timeout of its own, and
// on a busy machine the longest story takes more than one of them.
func UntilSeen(t *testing.T, check suite.Check, w *world.World, after, seen string) v1alpha3.TestResult {
	t.Helper()
	ctx, end := context.WithCancelCause(t.Context())
	defer end(nil)
	ended := make(chan v1alpha3.TestStatus, 1)
	go func() { ended <- check.In(ctx, w) }()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for {
		select {
		case status := <-ended:
			return only(t, status)
		case <-look.C:
			if _, since, _ := strings.Cut(w.Journal.String(), after); strings.Contains(since, seen) {
				end(context.DeadlineExceeded)
				return only(t, <-ended)
			}
		}
	}
}
