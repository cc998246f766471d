package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/critical-service/operator/test/prober"
)

const (
	// cellTime is what one character of the timeline stands for, and rowCells how many make a row.
	cellTime = 20 * time.Millisecond
	rowCells = 50
	rowTime  = rowCells * cellTime

	// settled is for how long an answerer must hold before its coming is announced: while traffic
	// changes over, requests go here and there.
	settled = 100 * time.Millisecond

	// coast is for how many cells the last answer is taken to hold although no request was sent: on a
	// busy machine the prober is late at times.
	coast = int(settled / cellTime)
)

// strip draws the live timeline: one row per second, one character per cellTime.
type strip struct {
	out     io.Writer
	paint   painter
	history prober.Timeline
	start   time.Time
	row     int
	cell    []prober.Result
	cells   int
	// idle counts the cells since the last request, and mark is what that one showed.
	idle   int
	mark   string
	counts map[string]int
	notes  []note
	said   announcer
}

// note is a line between the rows.
type note struct {
	at   time.Time
	text string
}

func newStrip(out io.Writer, paint painter) *strip {
	return &strip{out: out, paint: paint, counts: map[string]int{}}
}

// legend explains the characters.
func (s *strip) legend() {
	_, _ = fmt.Fprintf(s.out, "  one character is %d ms:  %s %s   %s %s   %s no answer\n\n", cellTime.Milliseconds(),
		s.paint.cell(shop), shop, s.paint.cell(page), page, s.paint.cell(prober.NoAnswer))
}

// add draws the next result. Results come in the order in which the requests were sent.
func (s *strip) add(result prober.Result) {
	if s.start.IsZero() {
		s.start = result.Sent
	}
	position := int(result.Sent.Sub(s.start) / cellTime)
	for s.row*rowCells+s.cells < position {
		s.closeCell()
	}
	s.begin()
	s.cell = append(s.cell, result)
	s.counts[answerer(result)]++
	s.history.Add(result)
	if text := s.said.follow(s.history.Segments()); text != "" {
		s.notes = append(s.notes, note{at: s.said.since, text: text})
	}
}

// say puts a line between the rows, after the row of the moment it is about.
func (s *strip) say(at time.Time, format string, args ...any) {
	s.notes = append(s.notes, note{at: at, text: fmt.Sprintf(format, args...)})
}

// finish ends the row that is being drawn and prints what is still to be said.
func (s *strip) finish() {
	if s.start.IsZero() {
		return
	}
	for row := s.row; s.row == row && s.begun(); {
		s.closeCell()
	}
	s.sayUntil(s.start.Add(time.Duration(1<<62 - 1)))
}

// begin writes the label of a row, once.
func (s *strip) begin() {
	if !s.begun() {
		_, _ = fmt.Fprintf(s.out, "%5d s  ", s.row)
	}
}

func (s *strip) begun() bool { return s.cells > 0 || len(s.cell) > 0 }

func (s *strip) closeCell() {
	s.begin()
	s.idle++
	if len(s.cell) > 0 {
		s.idle, s.mark = 0, s.paint.cell(worst(s.cell))
	}
	if s.idle > coast {
		s.mark = " "
	}
	_, _ = io.WriteString(s.out, s.mark)
	s.cell = nil
	s.cells++
	if s.cells == rowCells {
		s.closeRow()
	}
}

func (s *strip) closeRow() {
	_, _ = fmt.Fprintf(s.out, "  %s\n", counts(s.counts))
	s.counts = map[string]int{}
	s.cells = 0
	s.row++
	s.sayUntil(s.start.Add(time.Duration(s.row) * rowTime))
}

func (s *strip) sayUntil(limit time.Time) {
	slices.SortStableFunc(s.notes, func(a, b note) int { return a.at.Compare(b.at) })
	for len(s.notes) > 0 && s.notes[0].at.Before(limit) {
		_, _ = fmt.Fprintf(s.out, "%s\n", s.paint.note(fmt.Sprintf("         ▸ %5.2f s  %s", s.notes[0].at.Sub(s.start).Seconds(), s.notes[0].text)))
		s.notes = s.notes[1:]
	}
}

// worst is what a cell shows: a request without an answer must not hide behind its neighbour.
func worst(cell []prober.Result) string {
	show := answerer(cell[0])
	for _, result := range cell[1:] {
		if who := answerer(result); rank(who) < rank(show) {
			show = who
		}
	}
	return show
}

func rank(who string) int {
	switch who {
	case prober.NoAnswer:
		return 0
	case shop:
		return 2
	}
	return 1
}

func answerer(result prober.Result) string {
	if !result.Answered() {
		return prober.NoAnswer
	}
	return result.By
}

// counts says who answered in a row; with numbers only where it was more than one.
func counts(requests map[string]int) string {
	phase := prober.Phase{Requests: requests}
	var parts []string
	for _, who := range phase.Who() {
		if len(requests) == 1 {
			return name(who)
		}
		parts = append(parts, fmt.Sprintf("%s %d", name(who), requests[who]))
	}
	return strings.Join(parts, ", ")
}

func name(who string) string {
	if who == prober.NoAnswer {
		return "no answer"
	}
	return who
}

// announcer says in words when the answerer changes.
type announcer struct {
	started bool
	who     string
	since   time.Time
	// seen is how many segments are already part of what was said.
	seen int
}

// follow returns what is to be said now that the timeline has reached segments; mostly nothing.
func (a *announcer) follow(segments []prober.Segment) string {
	last := segments[len(segments)-1]
	if last.Duration() < settled {
		return ""
	}
	first := !a.started
	changed := first || last.Who != a.who
	a.started, a.who = true, last.Who
	if last.Who == prober.NoAnswer {
		// The gap is counted at the next answer.
		if !changed {
			return ""
		}
		a.since = last.From
		return "no answer: " + faults(last.Faults)
	}
	gap := prober.Summarise(segments[a.seen:]).Unanswered
	a.seen = len(segments)
	if !changed {
		return ""
	}
	a.since = last.From
	switch {
	case first && gap == 0:
		return last.Who + " answers"
	case gap == 0:
		return last.Who + " answers; no request was lost"
	}
	return fmt.Sprintf("%s answers, after %s without an answer", last.Who, seconds(gap))
}

func faults(counts map[prober.Fault]int) string {
	phrases := map[prober.Fault]string{
		prober.Refused: "connection refused", prober.Timeout: "no answer in time", prober.Reset: "connection broken off",
		prober.Unreachable: "host unreachable", prober.DNS: "name not resolved", prober.Other: "error",
	}
	var parts []string
	for _, fault := range []prober.Fault{
		prober.Refused, prober.Timeout, prober.Reset, prober.Unreachable, prober.DNS, prober.Other,
	} {
		if counts[fault] > 0 {
			parts = append(parts, phrases[fault])
		}
	}
	return strings.Join(parts, ", ")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }
