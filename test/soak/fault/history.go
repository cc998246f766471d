package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// explains is for how long a fault explains requests that fail.
const explains = time.Minute

// Injected is a step that was taken.
type Injected struct {
	Step
	// Began is when.
	Began time.Time
}

// History are the steps that were taken, in the order of time.
type History []Injected

// Explains is the kind of the latest fault that explains a failure which a client of a Service noticed at some moment:
// one that happened to this Service, or concerned all, in the minute before.
func (h History) Explains(service string, noticed time.Time) Kind {
	for _, injected := range slices.Backward(h) {
		switch {
		case injected.Began.After(noticed):
		case noticed.Sub(injected.Began) > explains:
			return None
		case injected.Service == "" || injected.Service == service:
			return injected.Kind
		}
	}
	return None
}

// Count is how often each kind happened.
func (h History) Count() map[Kind]int {
	counts := map[Kind]int{}
	for _, injected := range h {
		counts[injected.Kind]++
	}
	return counts
}

// Last are the last steps, each in a line.
func (h History) Last(count int) string {
	var text strings.Builder
	for _, injected := range h[max(0, len(h)-count):] {
		fmt.Fprintf(&text, "  %s  %s\n", injected.Began.UTC().Format(time.TimeOnly), injected.Step)
	}
	return text.String()
}
