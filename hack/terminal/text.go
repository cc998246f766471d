package main

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// columns is how wide the terminal is. With more, the text would be too small in a README of 840 pixels.
const columns = 120

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

// wrap breaks a line at the edge of the terminal, as `fold -s` does: between words if it can.
func wrap(whole line) []line {
	lines, begin := []line{nil}, 0
	add := func(column int, letters []rune, class string) {
		if len(letters) > 0 {
			lines[len(lines)-1] = append(lines[len(lines)-1], run{column, string(letters), class})
		}
	}
	for _, part := range whole {
		column, letters := part.column-begin, []rune(part.text)
		for column+len(letters) > columns {
			end, next := fitting(letters, column)
			add(column, letters[:end], part.class)
			lines, letters = append(lines, nil), letters[next:]
			begin, column = begin+column+next, 0
		}
		add(column, letters, part.class)
	}
	return lines
}

// fitting is how many letters of a text have room from a column on, and which is the first of the next line.
func fitting(letters []rune, column int) (end, next int) {
	room := columns - column
	for blank := room; blank > 0; blank-- {
		if letters[blank] == ' ' {
			return blank, blank + 1
		}
	}
	if column > 0 {
		return 0, 0
	}
	return room, room
}

// words are what single blanks separate: two blanks or more are the gap of a table.
var words = regexp.MustCompile(`\S+(?: \S+)*`)
