package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// columns is how wide the terminal is.
const columns = 138

// line is what stands in one line of a terminal, from the left.
type line []run

// run is text of one colour.
type run struct {
	column int
	text   string
	class  string
}

// colours are the escape sequences that the plugin prints, by the class of the style that shows them.
var colours = map[string]string{"0": "text", "39": "text", "31": "bad", "32": "ok", "33": "warn"}

var escape = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// parse is a text with its colours, without the line break at its end.
func parse(text string) ([]line, error) {
	var lines []line
	class := colours["0"]
	for row := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		var found line
		column := 0
		add := func(part string) {
			// Blanks are not drawn: each word of a table stands in its own column.
			for _, at := range words.FindAllStringIndex(part, -1) {
				found = append(found, run{column + utf8.RuneCountInString(part[:at[0]]), part[at[0]:at[1]], class})
			}
			column += utf8.RuneCountInString(part)
		}
		end := 0
		for _, at := range escape.FindAllStringSubmatchIndex(row, -1) {
			add(row[end:at[0]])
			next, isKnown := colours[row[at[2]:at[3]]]
			if !isKnown {
				return nil, fmt.Errorf("unknown escape sequence %q in %q", row[at[0]:at[1]], row)
			}
			class, end = next, at[1]
		}
		add(row[end:])
		lines = append(lines, wrap(found)...)
	}
	return lines, nil
}

// wrap breaks a line at the edge of the terminal.
func wrap(whole line) []line {
	lines := []line{nil}
	for _, part := range whole {
		part.column -= (len(lines) - 1) * columns
		letters := []rune(part.text)
		for part.column+len(letters) > columns {
			room := max(columns-part.column, 0)
			if room > 0 {
				lines[len(lines)-1] = append(lines[len(lines)-1], run{part.column, string(letters[:room]), part.class})
			}
			lines = append(lines, nil)
			letters, part.column = letters[room:], max(part.column-columns, 0)
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], run{part.column, string(letters), part.class})
	}
	return lines
}

// words are what single blanks separate: two blanks or more are the gap of a table.
var words = regexp.MustCompile(`\S+(?: \S+)*`)
