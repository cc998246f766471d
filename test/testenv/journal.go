package testenv

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// journal keeps a log in memory, to be shown when a test fails.
type journal struct {
	mu      sync.Mutex
	entries []entry
	// of are those entries that name a world: an operator of many worlds logs too much to be looked through at each poll.
	of map[string][]entry
}

// worldIn finds the name of a world, see newNamespace.
var worldIn = regexp.MustCompile(`test-[a-z0-9]{8}`)

type entry struct {
	at   time.Time
	text string
}

// debug is the level at which controller-runtime logs every reconcile.
const debug = 5

func (j *journal) logger() logr.Logger {
	return funcr.New(func(_, line string) {
		j.add(entry{at: time.Now(), text: line})
	}, funcr.Options{Verbosity: debug})
}

func (j *journal) add(e entry) {
	worlds := worldIn.FindAllString(e.text, -1)
	slices.Sort(worlds)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, e)
	if j.of == nil {
		j.of = map[string][]entry{}
	}
	for _, world := range slices.Compact(worlds) {
		j.of[world] = append(j.of[world], e)
	}
}

// holding lists the entries that hold all of some texts.
func (j *journal) holding(texts ...string) []entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	among := j.entries
	for _, text := range texts {
		if world := worldIn.FindString(text); world != "" {
			among = j.of[world]
		}
	}
	var kept []entry
	for _, entry := range among {
		if !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(entry.text, text) }) {
			kept = append(kept, entry)
		}
	}
	return kept
}

// lastLines is how much of a log a failed test shows.
const lastLines = 40

// noise is what controller-runtime says twice, or that tells a person nothing.
var noise = regexp.MustCompile(`"(controllerGroup|controllerKind|Service|CriticalService|reconcileID)"=({[^}]*}|"[^"]*") ?`)

// text shows the last entries about something, without those about every
// reconcile.
func (j *journal) text(about string) string {
	var lines []string
	for _, entry := range j.holding(about) {
		if !strings.HasPrefix(entry.text, fmt.Sprintf(`"level"=%d`, debug)) {
			lines = append(lines, entry.at.Format("15:04:05.000 ")+noise.ReplaceAllString(entry.text, ""))
		}
	}
	return strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}
