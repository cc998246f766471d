package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/critical-service/operator/test/prober"
)

// painter colours text, on a terminal only.
type painter struct{ colour bool }

const (
	green  = "32"
	yellow = "33"
	red    = "31"
	cyan   = "36"
	bold   = "1"
	dim    = "2"
)

func (p painter) paint(style, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (p painter) note(text string) string { return p.paint(cyan, text) }

// cell is the character of the timeline that stands for an answerer. The characters differ in shape
// too, for those who see no colour.
func (p painter) cell(who string) string {
	switch who {
	case shop:
		return p.paint(green, "█")
	case page:
		return p.paint(yellow, "▒")
	case prober.NoAnswer:
		return p.paint(red, "·")
	}
	return p.paint(red, "?")
}

// screen is where the demo talks to the person who runs it.
type screen struct {
	out io.Writer
	painter
	// live says that lines can be overwritten: a terminal with a person before it.
	live bool
}

func newScreen(file *os.File, interactive bool) *screen {
	terminal := interactive && term.IsTerminal(int(file.Fd()))
	return &screen{
		out:     file,
		painter: painter{colour: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"},
		live:    terminal && os.Getenv("TERM") != "dumb",
	}
}

func (s *screen) printf(format string, args ...any) { _, _ = fmt.Fprintf(s.out, format, args...) }

// title begins a part of the demo.
func (s *screen) title(format string, args ...any) {
	s.printf("\n%s\n\n", s.paint(bold, fmt.Sprintf(format, args...)))
}

// done reports something that is finished.
func (s *screen) done(format string, args ...any) {
	s.printf("  %s %s\n", s.paint(green, "✓"), fmt.Sprintf(format, args...))
}

const (
	// pollEvery is how often a wait looks again; remindEvery is how often it says that it still waits
	// where lines cannot be overwritten.
	pollEvery   = 200 * time.Millisecond
	remindEvery = 5 * time.Second
)

// check looks whether something has come to pass, and says in words where it stands.
type check func(ctx context.Context) (done bool, state string, err error)

// wait shows what is being waited for, until check says that it is there.
func (s *screen) wait(ctx context.Context, what string, limit time.Duration, look check) error {
	began := time.Now()
	reminder := began.Add(remindEvery)
	err := until(ctx, what, limit, look, func(state string) {
		elapsed := time.Since(began).Round(time.Second)
		switch {
		case s.live:
			s.clearLine()
			s.printf("  %s %s", s.paint(yellow, "…"), s.fit(fmt.Sprintf("%s (%s) %s", what, elapsed, state)))
		case time.Now().After(reminder):
			reminder = reminder.Add(remindEvery)
			s.printf("  … %s (%s) %s\n", what, elapsed, state)
		}
	})
	s.clearLine()
	if err != nil {
		return err
	}
	s.done("%-58s %6.1f s", what, time.Since(began).Seconds())
	return nil
}

// until looks again and again until check says that what is wanted is there. An error of check does
// not end the wait: it is shown, and it is the reason given when the time is up.
func until(ctx context.Context, what string, limit time.Duration, look check, show func(state string)) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		done, state, err := look(ctx)
		if done && err == nil {
			return nil
		}
		// A look that the end of the time cut short knows less than the one before.
		if err != nil && ctx.Err() == nil {
			state = err.Error()
		}
		show(state)
		select {
		case <-ctx.Done():
			return ended(ctx, what, limit, state)
		case <-time.After(pollEvery):
		}
	}
}

// ended says why a wait was in vain.
func ended(ctx context.Context, what string, limit time.Duration, state string) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("interrupted while waiting: %s", what)
	}
	return fmt.Errorf("not within %s: %s; last seen: %s", limit, what, orNothing(state))
}

func orNothing(state string) string {
	if state == "" {
		return "no progress"
	}
	return state
}

func (s *screen) clearLine() {
	if s.live {
		s.printf("\r\x1b[K")
	}
}

// fit shortens a line that is going to be overwritten: one that wraps could not be.
func (s *screen) fit(line string) string {
	const margin = 6
	width := 80
	if file, ok := s.out.(*os.File); ok {
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 2*margin {
			width = columns
		}
	}
	runes := []rune(strings.ReplaceAll(line, "\n", " "))
	if len(runes) > width-margin {
		runes = append(runes[:width-margin-1], '…')
	}
	return string(runes)
}
