// Package figures is what a soak has found, for people: the report, and the limits of what the operator may use. Pure.
package figures

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/critical-service/operator/test/bench/measure"
	"github.com/critical-service/operator/test/soak/fault"
)

// Figures are those of one run.
type Figures struct {
	Seed     uint64
	Length   time.Duration
	Began    time.Time
	Operator string
	Machine  string
	Services int
	Nodes    int
	// Looks is how often the invariants were held against the objects.
	Looks int
	// Requests are those of all clients, and Failed those that were not answered, by the fault that explains them.
	Requests int
	Failed   map[fault.Kind]int
	Injected map[fault.Kind]int
	// Unexplained are those that failed without a fault, by when and how.
	Unexplained map[string]int
	// Before and After are what the larger replica used in the minutes before and after all faults; nil until then.
	Before, After *measure.Usage
	// Meanwhile is what the larger replica used in each minute of the faults; nothing where that is not known.
	Meanwhile []measure.Usage
	// Age is how long the youngest process lived that After is of.
	Age time.Duration
	// Problem is why the run ended early; empty if it did not.
	Problem string
}

// What the operator may use in the end, by what it used in the beginning: a process that has just started has not met
// much yet, and the garbage collector leaves some of it. What grows with every fault grows further than this.
const (
	moreMemory     = 16 << 20
	moreGoroutines = 20
)

// unexplainedShare is how many of all requests may fail without a fault, one in so many: a machine that is busy may lose some at
// any time.
const unexplainedShare = 5000

// protectedShare is how many of all requests may fail of Services that were protected, one in so many, whatever explains them. It
// is about twice the most that a run of two hours lost: 1.8 %, on a machine at load 28. Else a fault could excuse any number.
const protectedShare = 25

// limits are a fifth more, and some.
func limits(before measure.Usage) measure.Usage {
	return measure.Usage{Memory: before.Memory + before.Memory/5 + moreMemory, Goroutines: before.Goroutines + before.Goroutines/5 + moreGoroutines}
}

// Verdicts say whether the operator uses as much after the faults as before, within the limits, and whether few requests failed
// without a fault, and of Services that were protected; none without both.
func (f *Figures) Verdicts() []measure.Verdict {
	if f.Before == nil || f.After == nil {
		return nil
	}
	limit := limits(*f.Before)
	verdict := func(what, limit, found string, met bool) measure.Verdict {
		return measure.Verdict{What: what, Of: "operator", Limit: limit, Found: found, Counted: true, Met: met}
	}
	few := func(what string, found, share int) measure.Verdict {
		most := f.Requests / share
		return measure.Verdict{What: what, Of: "clients", Limit: fmt.Sprintf("%d (one in %d)", most, share), Found: fmt.Sprint(found), Counted: true, Met: found <= most}
	}
	return []measure.Verdict{
		verdict("Resident memory", fmt.Sprintf("%s (%s, a fifth of it, and %s)", measure.Mebibytes(limit.Memory), measure.Mebibytes(f.Before.Memory), measure.Mebibytes(moreMemory)),
			measure.Mebibytes(f.After.Memory), f.After.Memory <= limit.Memory),
		verdict("Goroutines", fmt.Sprintf("%d (%d, a fifth of it, and %d)", limit.Goroutines, f.Before.Goroutines, moreGoroutines),
			fmt.Sprint(f.After.Goroutines), f.After.Goroutines <= limit.Goroutines),
		few("Requests that failed without a fault", f.Failed[fault.None], unexplainedShare),
		few("Requests that failed of protected Services", f.protected(), protectedShare),
	}
}

// protected are the requests that failed of Services that no fault had left without protection.
func (f *Figures) protected() int {
	sum := 0
	for kind, count := range f.Failed {
		if !kind.Unprotects() {
			sum += count
		}
	}
	return sum
}

// Median is the middle of what was used over a while, memory and goroutines each; nil of nothing.
func Median(samples []measure.Usage) *measure.Usage {
	if len(samples) == 0 {
		return nil
	}
	var memory []int64
	var goroutines []int
	for _, sample := range samples {
		memory, goroutines = append(memory, sample.Memory), append(goroutines, sample.Goroutines)
	}
	slices.Sort(memory)
	slices.Sort(goroutines)
	return &measure.Usage{Memory: memory[len(memory)/2], Goroutines: goroutines[len(goroutines)/2]}
}

// Largest is the most that one of several replicas uses, of memory and of goroutines.
func Largest(replicas []measure.Usage) measure.Usage {
	var largest measure.Usage
	for _, replica := range replicas {
		largest.Memory, largest.Goroutines = max(largest.Memory, replica.Memory), max(largest.Goroutines, replica.Goroutines)
	}
	return largest
}

// Markdown is the report.
func (f *Figures) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "# Soak\n\n%s\n\n", f.verdict())
	fmt.Fprintf(&text, "`make soak SOAK=%s SEED=%d` injects the same faults at the same times.\n\n", f.Length, f.Seed)
	text.WriteString("| Run | |\n|---|---|\n")
	row := func(what string, value any) { fmt.Fprintf(&text, "| %s | %v |\n", what, value) }
	row("Seed", f.Seed)
	row("Began", f.Began.UTC().Format(time.RFC3339))
	row("Faults for", f.Length)
	row("Operator", f.Operator)
	row("Machine", f.Machine)
	row("Nodes", f.Nodes)
	row("Services", f.Services)
	row("Looks at the invariants", f.Looks)
	row("Requests", f.Requests)
	row("Requests that failed", total(f.Failed))
	row("Answered", f.share(f.Requests-total(f.Failed)))
	row("Faults injected", total(f.Injected))
	if f.After != nil {
		row("Youngest process in the end", f.Age.Truncate(time.Second))
	}
	text.WriteString("\n| Fault | Injected | Requests that failed | Of all |\n|---|---|---|---|\n")
	for _, kind := range append(fault.Kinds(), fault.None) {
		fmt.Fprintf(&text, "| %s | %d | %d | %s |\n", kind, f.Injected[kind], f.Failed[kind], f.share(f.Failed[kind]))
	}
	f.writeUnexplained(&text)
	f.writeMeanwhile(&text)
	if verdicts := f.Verdicts(); verdicts != nil {
		text.WriteString("\n" + measure.Verdicts("Of", verdicts))
	}
	return text.String()
}

// mostUnexplained is how many rows there are of what failed without a fault.
const mostUnexplained = 100

func (f *Figures) writeUnexplained(text *strings.Builder) {
	if len(f.Unexplained) == 0 {
		return
	}
	text.WriteString("\n| Without a fault | Requests that failed |\n|---|---|\n")
	when := slices.Sorted(maps.Keys(f.Unexplained))
	for _, second := range when[:min(len(when), mostUnexplained)] {
		fmt.Fprintf(text, "| %s | %d |\n", second, f.Unexplained[second])
	}
	if more := len(when) - mostUnexplained; more > 0 {
		fmt.Fprintf(text, "\n%d more rows are left out.\n", more)
	}
}

// minutesOfRow is how many minutes of the faults are a row of the report.
const minutesOfRow = 10

func (f *Figures) writeMeanwhile(text *strings.Builder) {
	if len(f.Meanwhile) < minutesOfRow {
		return
	}
	text.WriteString("\n| Minutes of faults | Resident memory, at most | Goroutines, at most |\n|---|---|---|\n")
	first := 0
	for some := range slices.Chunk(f.Meanwhile, minutesOfRow) {
		most := Largest(some)
		fmt.Fprintf(text, "| %d to %d | %s | %d |\n", first, first+len(some), measure.Mebibytes(most.Memory), most.Goroutines)
		first += len(some)
	}
}

// share is how many of all requests some are.
func (f *Figures) share(requests int) string {
	return fmt.Sprintf("%.4f %%", 100*float64(requests)/float64(max(1, f.Requests)))
}

func (f *Figures) verdict() string {
	if f.Problem != "" {
		return "**Failed**: " + f.Problem
	}
	for _, verdict := range f.Verdicts() {
		if verdict.Counted && !verdict.Met {
			return fmt.Sprintf("**Failed**: %s: %s, and the limit is %s.", verdict.What, verdict.Found, verdict.Limit)
		}
	}
	return "Every invariant held."
}

func total(counts map[fault.Kind]int) int {
	sum := 0
	for _, count := range counts {
		sum += count
	}
	return sum
}
