package output

import (
	"io"
	"os"

	"golang.org/x/term"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Tone is how urgent a text is.
type Tone string

// The tones have escape sequences of the same length, so that the columns of a
// table stay straight.
const (
	// Neutral is ordinary text.
	Neutral Tone = "\x1b[39m"
	// Good needs no one.
	Good Tone = "\x1b[32m"
	// Warning needs a person soon.
	Warning Tone = "\x1b[33m"
	// Bad needs a person now.
	Bad Tone = "\x1b[31m"

	reset = "\x1b[0m"
)

// Palette colours text, or leaves it alone.
type Palette bool

// PaletteOf colours only what a terminal shows, and nothing where the environment
// has NO_COLOR (https://no-color.org) or a terminal that cannot (TERM=dumb).
func PaletteOf(out io.Writer) Palette {
	return Palette(IsTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Paint gives a text its tone.
func (p Palette) Paint(tone Tone, text string) string {
	if !p {
		return text
	}
	return string(tone) + text + reset
}

// IsTerminal reports whether a terminal shows what is written.
func IsTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// ToneOfState is how urgent the state of a Service is.
func ToneOfState(state string) Tone {
	switch criticalv2.ServiceState(state) {
	case criticalv2.StateExposed:
		return Bad
	case criticalv2.StateCovered, criticalv2.StateArming:
		return Warning
	case criticalv2.StateArmed:
		return Good
	case criticalv2.StateIgnored:
		return Neutral
	default:
		return Neutral
	}
}

// ToneOfCondition is how urgent the status of a condition is that is True when all
// is well.
func ToneOfCondition(status string) Tone {
	switch status {
	case "True":
		return Good
	case "False":
		return Bad
	default:
		return Neutral
	}
}
