package fault

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// aMoment is until proxies and caches know of a change, and aStart until a Pod has started as well.
const aMoment, aStart = 10 * time.Second, 30 * time.Second

// explains is for how long a fault explains requests that fail, on a machine that is busy. Others explain none.
var explains = map[Kind]time.Duration{
	ScaleDown: aStart, DeletePods: aStart, DeleteSlices: aMoment, AlterSlices: aMoment, EditPolicy: aStart,
	RecreatePolicy: aStart, OptIn: aStart, DeleteResponder: aMoment, KillOperator: aMoment, Drain: time.Minute,
}

// unprotected are those under which a Service is not protected, with what ends them: until then they explain all that fails.
var unprotected = map[Kind]Kind{DeletePolicy: RecreatePolicy, OptOut: OptIn}

// Unprotects reports whether a Service is not protected under this kind.
func (k Kind) Unprotects() bool {
	_, lasts := unprotected[k]
	return lasts
}

// Injected is a step that was taken.
type Injected struct {
	Step
	// Began is when.
	Began time.Time
}

// History are the steps that were taken, in the order of time.
type History []Injected

// Explains is the kind of the fault that explains a failure which a client of a Service noticed at some moment: one that
// leaves the Service without protection, or else the latest one that happened to this Service, or concerned all, not too long
// before.
func (h History) Explains(service string, noticed time.Time) Kind {
	ended, latest := map[Kind]bool{}, None
	for _, injected := range slices.Backward(h) {
		if injected.Began.After(noticed) || injected.Service != "" && injected.Service != service {
			continue
		}
		if end, lasts := unprotected[injected.Kind]; lasts && !ended[end] {
			return injected.Kind
		}
		if latest == None && noticed.Sub(injected.Began) < explains[injected.Kind] {
			latest = injected.Kind
		}
		ended[injected.Kind] = true
	}
	return latest
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
