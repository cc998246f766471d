package console

import (
	"fmt"
	"io"
	"time"
)

const (
	// onTerminal is how often the line on a terminal is written again, and inLog how often a new
	// one is where the lines are kept.
	onTerminal = 200 * time.Millisecond
	inLog      = 10 * time.Second
)

// progress says how much of a snapshot has passed, how much it will be, and how fast it is. One
// that takes no time has none.
type progress struct {
	to            io.Writer
	every         time.Duration
	begin, finish string
	started, said time.Time
}

func newProgress(to io.Writer) *progress {
	now := time.Now()
	p := &progress{to: to, every: inLog, finish: "\n", started: now, said: now}
	if IsTerminal(to) {
		p.every, p.begin, p.finish = onTerminal, "\r\x1b[K", ""
	}
	return p
}

// report is called as often as something has passed. The total is 0 where it is unknown.
func (p *progress) report(passed, total int64) {
	now := time.Now()
	if now.Sub(p.said) < p.every {
		return
	}
	p.said = now
	of := ""
	if total > 0 {
		of = " of " + Size(total)
	}
	rate := float64(passed) / now.Sub(p.started).Seconds()
	fmt.Fprintf(p.to, "%s%s%s, %s/s%s", p.begin, Size(passed), of, Size(int64(rate)), p.finish)
}

// end takes the line away from a terminal.
func (p *progress) end() { fmt.Fprint(p.to, p.begin) }
