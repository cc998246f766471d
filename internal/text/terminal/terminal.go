// Package terminal makes texts of others fit to be printed at a terminal. It is pure.
package terminal

import (
	"strings"
	"unicode"
)

// OneLine is a text as one line without control characters: what is in a status may
// come from any container. Invisible characters are replaced, too: they may reverse
// the order of what is read.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return '?'
		}
		return r
	}, strings.Join(strings.Fields(text), " "))
}

// Lines is a text of several lines without control characters. Those after the first
// are indented, so that none looks like one of our own.
func Lines(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = OneLine(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n  ")
}
