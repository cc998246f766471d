package testenv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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

// mishapsOf are those that befall one of the writes of a story in this run, the first of which is 0: by `make faults` several,
// else one of the few in turn for each third write, as a story takes long.
func mishapsOf(i int) []mishap {
	switch os.Getenv("FAULTS") {
	case "":
		if i%3 != 0 {
			return nil
		}
		return mishaps[i/3%len(mishaps):][:1]
	case "all":
		return slices.Concat(mishaps, others)
	default:
		return mishaps
	}
}

// SideBySide lets those lives of a story that are disturbed run beside each other, after the one that is not.
func SideBySide(live func(t *testing.T, fate *Fate) string) func(t *testing.T, fate *Fate) string {
	return func(t *testing.T, fate *Fate) string {
		t.Helper()
		if !fate.IsHappy() {
			t.Parallel()
		}
		return live(t, fate)
	}
}

// HoweverItIsSeen lives the same story undisturbed, and then under each View of the cluster: the end must be the same. In
// the view of old lists, and by `make faults` in each, an operator dies with one of its writes, and the next
// one begins with that.
func HoweverItIsSeen(t *testing.T, live func(t *testing.T, fate *Fate) string) {
	t.Helper()
	seed := Number(t, "SEED", int(rand.Uint32())) //nolint:gosec // Chance is enough.
	t.Logf("with SEED=%d watches live as long, and events come as late, once more; which resource is held depends on their order", seed)
	s := begin(t, live)
	s.group(t, "when", func(t *testing.T) {
		for _, view := range views() {
			for i, last := range deaths(view, s.writes) {
				name := view.name
				if last != none {
					name += fmt.Sprintf(", and %s is the last write of an operator", last)
				}
				s.befall(t, name, func() *Fate {
					fate := NewFate()
					fate.struck, fate.view = last, view.again(uint64(seed+i)) //nolint:gosec // A seed is any number.
					fate.mishap = mishap{verdict: LoseAnswer, dies: true}
					return fate
				})
			}
		}
	})
	t.Log(&s.done)
	if !s.done.isAll(s.expected) {
		t.Error("the views differ too little from the cluster")
	}
	if s.done.behind > 0 {
		t.Errorf("%d caches began with a list of any age, which is old where the API server lags", s.done.behind)
	}
	s.end(t, int64(len(views())))
}

// deaths are the writes with which an operator dies, and none.
func deaths(view *View, writes []nthWrite) []nthWrite {
	switch {
	case os.Getenv("FAULTS") != "":
		return append([]nthWrite{none}, writes...)
	case view.behind > 0:
		return writes[len(writes)/2:][:1]
	default:
		return []nthWrite{none}
	}
}

// WhicheverWriteGoesWrong lives the same story again and again: first undisturbed, and then for some writes of the operator with
// one mishap, or by `make faults` for each write with each. The story describes its end, which must be the same. It is one of
// at least so many writes.
func WhicheverWriteGoesWrong(t *testing.T, fewest int, live func(t *testing.T, fate *Fate) string) {
	t.Helper()
	s := begin(t, live)
	if len(s.writes) < fewest {
		t.Fatalf("the story has only %d writes: it tests too little", len(s.writes))
	}
	s.group(t, "when", func(t *testing.T) {
		for i, write := range s.writes {
			for _, mishap := range mishapsOf(i) {
				s.befall(t, fmt.Sprintf("%s %s", write, mishap.name), func() *Fate {
					fate := NewFate()
					fate.struck, fate.mishap = write, mishap
					return fate
				})
			}
		}
	})
	s.end(t, int64(len(mishapsOf(0))))
}

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

// series is one story that is lived again and again.
type series struct {
	live func(t *testing.T, fate *Fate) string
	// undisturbed is its end when all goes well, after these writes.
	undisturbed string
	writes      []nthWrite
	// usual is what the operator did then.
	usual effort
	// expected are the mishaps that are to happen; happened are those that did, and crashes those of which an operator died.
	expected          int64
	happened, crashes atomic.Int64
	// missed are the lives whose fate did not come.
	mu     sync.Mutex
	missed []missed
	// done is what was done to views.
	done disturbances
}

func begin(t *testing.T, live func(t *testing.T, fate *Fate) string) *series {
	t.Helper()
	s, fate := &series{live: live}, NewFate()
	if !t.Run("when all goes well", func(t *testing.T) {
		s.undisturbed = live(t, fate)
		s.usual = fate.history.judge(t)
	}) {
		t.FailNow() // There is no end to compare with.
	}
	fate.mu.Lock()
	defer fate.mu.Unlock()
	s.writes = slices.Clone(fate.writes)
	return s
}

// group runs lives, and those again whose fate did not come: a story may take a write less than the first one, where two news
// come at once. They come after all others, and not within the life that they repeat: that one would not end before them, and
// keep what tests wait for that run beside it.
func (s *series) group(t *testing.T, name string, lives func(t *testing.T)) {
	t.Helper()
	t.Run(name, lives)
	if len(s.missed) == 0 {
		return
	}
	t.Run("again, "+name, func(t *testing.T) {
		for _, m := range s.missed {
			t.Run(m.name, func(t *testing.T) {
				if !s.comes(t, m.fate()) {
					t.Log("its write did not come, as in the first try")
				}
			})
		}
	})
}

// befall lives the story with a fate.
func (s *series) befall(t *testing.T, name string, fate func() *Fate) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		first := fate()
		if first.struck != none {
			s.expected++
		}
		if !s.comes(t, first) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.missed = append(s.missed, missed{name, fate})
		}
	})
}

// missed is a life whose fate did not come.
type missed struct {
	name string
	fate func() *Fate
}

// comes lives the story with a fate, and reports whether it came.
func (s *series) comes(t *testing.T, fate *Fate) bool {
	t.Helper()
	if got := s.live(t, fate); got != s.undisturbed {
		t.Errorf("the end is another one:\n%s\nundisturbed it is:\n%s", got, s.undisturbed)
	}
	for _, broken := range fate.history.judge(t).beyond(s.usual, fate.view != nil) {
		t.Error("a law does not hold: " + broken)
	}
	if fate.view != nil {
		s.done.add(fate.view)
	}
	if fate.struck == none {
		return true
	}
	if !fate.came() {
		return false
	}
	s.happened.Add(1)
	if fate.dies {
		s.crashes.Add(1)
	}
	return true
}

// end says how much came, and fails if that is less than expected by more than two writes, each with so many fates: where two
// events come at once, a story takes a write less than the first time, and again when it is repeated.
func (s *series) end(t *testing.T, fates int64) {
	t.Helper()
	happened := s.happened.Load()
	t.Logf("%d writes, %d of %d faults injected, %d of them crashes", len(s.writes), happened, s.expected, s.crashes.Load())
	if s.expected-happened > min(2*fates, s.expected/4) {
		t.Errorf("only %d of %d mishaps happened", happened, s.expected)
	}
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
	// view is how its operators see the cluster; nil is as it is.
	view *View
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
func (f *Fate) Follow(next *Program) { next.view, next.history = f.view, f.history }

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

// AwaitRest returns when an operator that starts on what a story has left writes nothing: replace stops the one that runs and
// starts another, and settled is that one when it has nothing left to do. What the one before had not finished, the next one may.
func (f *Fate) AwaitRest(w *World, replace func(), settled func() *Operator) {
	w.T.Helper()
	f.Calm()
	if !f.dies || f.struck == none {
		settled() // Also the one that something went wrong for comes to rest, and not only the next one.
	}
	w.Eventually(func() []Request {
		f.Change(replace)
		return settled().Traffic.Requests(Request.Writes)
	}).Should(gomega.BeEmpty(), "nothing is left to do, so that nothing may be written")
}
