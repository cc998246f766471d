package main

import (
	"html"
	"unicode/utf8"

	"github.com/critical-service/operator/hack/svg"
)

// Where things are, in pixels.
const (
	advance    = 8.4 // the width of a character
	lineHeight = 20
	margin     = 20
	width      = 1048 // columns and both margins
	bar        = 32   // the height of the window's bar
)

const rules = `
text { font-family: ` + svg.Mono + `; font-size: 14px; }
.window { fill: $paper; stroke: $border; }
.bar { fill: $bar; stroke: $border; }
.dot { fill: $border; }
.text { fill: $text; }
.typed { fill: $text; font-weight: 600; }
.muted { fill: $muted; }
.ok { fill: $ok; }
.warn { fill: $warn; }
.bad { fill: $bad; }
`

// draw is a window with lines of text, as an SVG.
func draw(title, description string, lines []line) string {
	height := bar + len(lines)*lineHeight + 2*margin

	drawing := svg.New(svg.Head{
		Width: width, Height: height, Title: title, Description: description, Command: "make pictures", Rules: rules,
	})
	drawing.Add(`<rect class="window" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`, width-1, height-1)
	drawing.Add(`<path class="bar" d="M0.5 %d V8.5 a8 8 0 0 1 8 -8 H%d a8 8 0 0 1 8 8 V%d Z"/>`, bar, width-9, bar)
	for dot := range 3 {
		drawing.Add(`<circle class="dot" cx="%d" cy="%d" r="6"/>`, margin+dot*20, bar/2)
	}
	for row, line := range lines {
		y := bar + margin + (row+1)*lineHeight - 6
		for _, run := range line {
			// With its length given, a text keeps its columns in whatever font there is.
			drawing.Add(`<text class="%s" x="%.1f" y="%d" textLength="%.1f" lengthAdjust="spacingAndGlyphs">%s</text>`, run.class,
				margin+float64(run.column)*advance, y, float64(utf8.RuneCountInString(run.text))*advance, html.EscapeString(run.text))
		}
	}
	return drawing.String()
}
