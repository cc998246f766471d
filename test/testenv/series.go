package testenv

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
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
	t.Logf("with SEED=%d watches live as long, and events come as late, once more", seed)
	happy := NewFate()
	happy.noting = (&View{}).again(0, "")
	s := begin(t, live, happy)
	resources := happy.noting.whatChanges()
	if len(resources) == 0 {
		t.Fatal("no watch of the operator showed a change")
	}
	s.group(t, "when", func(t *testing.T) {
		for _, view := range views() {
			for i, last := range deaths(view, s.writes) {
				name := view.name
				if last != none {
					name += fmt.Sprintf(", and %s is the last write of an operator", last)
				}
				s.befall(t, name, func() *Fate {
					fate := NewFate()
					fate.struck, fate.view = last, view.again(uint64(seed+i), resources[(seed+i)%len(resources)]) //nolint:gosec // A seed is any number.
					fate.mishap = mishap{verdict: LoseAnswer, dies: true}
					return fate
				})
			}
		}
	})
	t.Log(&s.done)
	if !s.done.isAll(len(s.faults) * len(views())) {
		t.Error("the views differ too little from the cluster")
	}
	if s.done.behind > 0 {
		t.Errorf("%d caches began with a list of any age, which is old where the API server lags", s.done.behind)
	}
	s.end(t, (len(s.faults)+1)/2, len(views()))
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
	s := begin(t, live, NewFate())
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
	if os.Getenv("FAULTS") == "" {
		fewest /= 3
	}
	s.end(t, fewest, len(mishapsOf(0)))
}

// series is one story that is lived again and again.
type series struct {
	live func(t *testing.T, fate *Fate) string
	// undisturbed is its end when all goes well, after these writes.
	undisturbed string
	writes      []nthWrite
	// usual is what the operator did then.
	usual effort
	mu    sync.Mutex
	// faults are those of each write that is struck, and crashes those of which an operator died.
	faults  map[nthWrite]*tally
	crashes int
	// planned are all lives, and lived those of them that -run does not leave out.
	planned, lived int
	// missed are the lives whose fate did not come in their last try.
	missed []life
	// done is what was done to views.
	done disturbances
}

// tally is how many faults are to befall a write, and how many did.
type tally struct{ expected, happened int }

// begin lives the story with a fate in which nothing goes wrong.
func begin(t *testing.T, live func(t *testing.T, fate *Fate) string, fate *Fate) *series {
	t.Helper()
	s := &series{live: live, faults: map[nthWrite]*tally{}}
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

// tries is how often a life is lived whose fate does not come. A run with each fault has the time to wait for writes that
// stories seldom take.
func tries() int {
	if os.Getenv("FAULTS") != "" {
		return 12
	}
	return 3
}

// group runs lives, and those again whose fate did not come: a story may take a write less than the first one, where two news
// come at once. They come after all others, and not within the life that they repeat: that one would not end before them, and
// keep what tests wait for that run beside it.
func (s *series) group(t *testing.T, name string, lives func(t *testing.T)) {
	t.Helper()
	t.Run(name, lives)
	for try := 2; try <= tries(); try++ {
		again := s.missed
		if s.missed = nil; len(again) == 0 {
			return
		}
		t.Run(fmt.Sprintf("%s, try %d", name, try), func(t *testing.T) {
			for _, m := range again {
				s.try(t, m)
			}
		})
	}
}

// befall lives the story with a fate.
func (s *series) befall(t *testing.T, name string, fate func() *Fate) {
	t.Helper()
	s.planned++
	s.try(t, life{name: name, fate: fate})
}

// try lives a life, and notes if its fate does not come. The fault of one that -run leaves out is not expected.
func (s *series) try(t *testing.T, l life) {
	t.Helper()
	t.Run(l.name, func(t *testing.T) {
		fate := l.fate()
		if !l.again {
			s.expect(fate.struck)
		}
		if !s.comes(t, fate) {
			s.mu.Lock()
			defer s.mu.Unlock()
			l.again = true
			s.missed = append(s.missed, l)
		}
	})
}

// expect notes that a life begins in which a fault is to befall a write.
func (s *series) expect(write nthWrite) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lived++
	if write == none {
		return
	}
	if s.faults[write] == nil {
		s.faults[write] = &tally{}
	}
	s.faults[write].expected++
}

// life is a story with a fate.
type life struct {
	name string
	fate func() *Fate
	// again: it was lived before, and its fate did not come.
	again bool
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
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults[fate.struck].happened++
	if fate.dies {
		s.crashes++
	}
	return true
}

// end says how much came. It fails if fewer writes than so many came again, or if of their faults more than those of two writes,
// and more than an eighth, did not; of a few faults, more than half. Where two events come at once, a story takes a write less
// than the first time, and again when it is repeated. On a busy machine the first one takes more that never come again: they are
// none of the story, but by `make faults`, which has the time to wait for them, they count: see shortfall. Where -run leaves lives
// out, the others may be of few writes.
func (s *series) end(t *testing.T, fewest, fates int) {
	t.Helper()
	summary, problems := s.summary(fewest, fates)
	t.Log(summary)
	for _, problem := range problems {
		t.Error(problem)
	}
}

// summary is what came, and what is too few.
func (s *series) summary(fewest, fates int) (summary string, problems []string) {
	var writes, expected, happened, all int
	var never, some []string
	for write, faults := range s.faults {
		all += faults.expected
		switch {
		case faults.happened == 0:
			never = append(never, write.String())
			continue
		case faults.happened < faults.expected:
			some = append(some, fmt.Sprintf("%s: %d of %d", write, faults.happened, faults.expected))
		}
		writes, expected, happened = writes+1, expected+faults.expected, happened+faults.happened
	}
	slices.Sort(never)
	slices.Sort(some)
	summary = fmt.Sprintf("%d of %d writes came again, with %d of %d faults, %d of them crashes; never: %q; not each time: %q",
		writes, len(s.faults), happened, expected, s.crashes, never, some)
	if writes < fewest && s.lived == s.planned {
		problems = append(problems, fmt.Sprintf("only %d of %d writes came again", writes, len(s.faults)))
	}
	if expected-happened > max(min(2*fates, expected/2), expected/8) {
		problems = append(problems, fmt.Sprintf("only %d of %d mishaps happened", happened, expected))
	}
	if short := shortfall(happened, all); short != "" && os.Getenv("FAULTS") == "all" {
		problems = append(problems, short)
	}
	return summary, problems
}

// leastPercent is how many of all faults must come where each write meets each. In full runs, at most three of a story did not,
// which were less than 2 %.
const leastPercent = 95

// shortfall says how many of all faults came, those of writes that never came again among them, if that is too few. In a view,
// each is a crash.
func shortfall(happened, all int) string {
	if 100*happened >= leastPercent*all {
		return ""
	}
	return fmt.Sprintf("only %d of all %d faults came: at least %d %% must", happened, all, leastPercent)
}
