package testenv

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/onsi/gomega"
)

// mishap is what befalls one write of an operator.
type mishap struct {
	name    string
	verdict Verdict
	// dies is true if the operator dies with it, and another one starts.
	dies bool
}

// What may befall a write in the tests, and by `make faults` only.
var (
	mishaps = []mishap{
		{name: "is lost", verdict: Lose},
		{name: "succeeds and its answer is lost", verdict: LoseAnswer},
		{name: "is the last thing the operator does", verdict: LoseAnswer, dies: true},
	}
	others = []mishap{
		{name: "is never sent because the operator dies", verdict: Lose, dies: true},
		{name: "meets a conflict", verdict: Conflict},
		{name: "is one of too many", verdict: TooMany},
		{name: "meets an internal error", verdict: Fail},
		{name: "times out", verdict: TimeOut},
		{name: "succeeds and times out", verdict: TimeOutAnswer},
	}
)

// nthWrite says which write of a story it is: the number of those with this method and resource, from 1. It stays the same where
// writes of other resources come before it or after it; two of the same resource at once may swap.
type nthWrite struct {
	method, resource string
	number           int
}

// none is no write.
var none nthWrite

func (w nthWrite) String() string {
	return fmt.Sprintf("%s %s %d", w.method, strings.ReplaceAll(w.resource, "/", " "), w.number)
}

// Fate lets something befall one write of an operator.
type Fate struct {
	// Spares leaves requests alone that are not of the story; nil spares none.
	Spares func(Request) bool

	mishap
	// struck is the write that it befalls.
	struck nthWrite
	// writes are those that came, in their order.
	mu     sync.Mutex
	writes []nthWrite
	ends   sync.Once
	// view is how its operators see the cluster; nil is as it is. Then noting may note what changes.
	view, noting *View
	// dead is closed when the first operator dies, and followed when another one runs.
	dead, followed chan struct{}
	replacing      sync.Mutex
	// history is what is recorded of the story; nil is nothing.
	history *history
}

// NewFate is one in which nothing goes wrong.
func NewFate() *Fate { return &Fate{dead: make(chan struct{}), followed: make(chan struct{})} }

// IsHappy reports whether nothing goes wrong. The others may be lived side by side, after it.
func (f *Fate) IsHappy() bool { return f.struck == none && f.view == nil }

// Befall lets it befall an operator that is to start, but not the one that follows a dead one.
func (f *Fate) Befall(program *Program) {
	f.Follow(program)
	select {
	case <-f.dead:
	default:
		program.Interfere = f.Interfere
	}
}

// Follow is for the operators after that one.
func (f *Fate) Follow(next *Program) { next.view, next.history = cmp.Or(f.view, f.noting), f.history }

// Calm ends what is done to the view of the operators, so that they can come to rest.
func (f *Fate) Calm() { f.view.Calm() }

// Interfere is for the operators of a story until one dies, which writes nothing more.
func (f *Fate) Interfere(r Request) Verdict {
	select {
	case <-f.dead:
		return Lose
	default:
	}
	// Events are sent once, and lost if that fails.
	if !r.Writes() || r.Resource() == "events" || f.Spares != nil && f.Spares(r) {
		return Pass
	}
	if f.next(r) != f.struck {
		return Pass
	}
	if f.dies {
		f.ends.Do(func() { close(f.dead) })
	}
	return f.verdict
}

// next notes a write, and says which one it is.
func (f *Fate) next(r Request) nthWrite {
	f.mu.Lock()
	defer f.mu.Unlock()
	write := nthWrite{r.Method, r.Resource(), 1}
	for _, before := range f.writes {
		if before.method == write.method && before.resource == write.resource {
			write.number++
		}
	}
	f.writes = append(f.writes, write)
	return write
}

// came reports whether its write has come.
func (f *Fate) came() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.writes, f.struck)
}

// Succeed lets another operator follow if the first one dies: it calls replace then, which
// stops the one and starts the other. Nothing befalls that one.
func (f *Fate) Succeed(t testing.TB, replace func()) {
	t.Helper()
	if !f.dies {
		return
	}
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-f.dead:
			defer close(f.followed) // Also if no other one can start.
			f.replacing.Lock()
			defer f.replacing.Unlock()
			replace()
		case <-over:
		}
	}()
	t.Cleanup(func() { close(over); <-ended })
}

// AwaitSuccessor returns when no operator has died, or another one has followed it.
func (f *Fate) AwaitSuccessor() {
	select {
	case <-f.dead:
		<-f.followed
	default:
	}
}

// Change stops or replaces the operator that runs, while nothing else does. If that one died before, another has followed it
// when this returns.
func (f *Fate) Change(do func()) {
	f.AwaitSuccessor()
	func() {
		f.replacing.Lock()
		defer f.replacing.Unlock() // Also if a test fails in it.
		do()
	}()
	f.AwaitSuccessor()
}

// AwaitRest returns when an operator that starts on what a story has left has written nothing: replace stops the one that runs
// and starts another, and settled is that one when it has nothing left to do. The one before has come to rest.
func (f *Fate) AwaitRest(w *World, replace func(), settled func() *Operator) {
	w.T.Helper()
	f.Calm()
	if f.dies && f.struck != none {
		f.Change(replace) // Else it may die while it comes to rest.
	}
	settled()
	f.Change(replace)
	w.Expect(settled().Traffic.Requests(Request.Writes)).To(gomega.BeEmpty(), "nothing is left to do, so that nothing may be written")
}
