package main

import (
	"errors"
	"fmt"
	"html"
	"slices"
	"unicode/utf8"

	"github.com/critical-service/operator/hack/svg"
)

const rules = `
text { font-family: ` + svg.Sans + `; font-size: 15px; }
.b { font-weight: 600; }
.s { font-size: 13px; }
.n { font-size: 20px; font-weight: 600; }
.m { font-family: ` + svg.Mono + `; font-size: 13px; }
.line { fill: none; stroke-width: 2.5; }
.cross { fill: none; stroke: $bad; stroke-width: 4; stroke-linecap: round; }
.dash { stroke-dasharray: 5 4; }
.b-ok, .b-warn, .b-svc, .b-text, .b-muted { stroke-width: 1.5; }
.page { fill: $page; }
.panel { fill: $panel; stroke: $border; }
.b-text { fill: $panel; stroke: $muted; }
.b-muted { fill: $panel; stroke: $muted; }
.b-svc { fill: $svc-back; stroke: $svc; }
.b-ok { fill: $ok-back; stroke: $ok; }
.b-warn { fill: $warn-back; stroke: $warn; }
.t-text { fill: $text; }
.t-pill { fill: $paper; }
.t-muted { fill: $muted; }
.t-svc, .p-svc { fill: $svc; }
.t-ok, .p-ok { fill: $ok; }
.t-warn, .p-warn { fill: $warn; }
.t-bad, .p-bad { fill: $bad; }
.l-muted { stroke: $muted; }
.l-svc { stroke: $svc; }
.l-ok { stroke: $ok; }
.l-warn { stroke: $warn; }
.l-bad { stroke: $bad; }
`

// How wide a letter is at most, about: in bold, and in small.
const (
	boldLetter  = 8.5
	smallLetter = 7
)

// canvas draws what the pictures are made of, and notes what does not fit.
type canvas struct {
	*svg.Drawing
	errs []error
}

func newCanvas(p picture, width, height int) *canvas {
	c := &canvas{Drawing: svg.New(svg.Head{
		Width: width, Height: height, Title: p.title, Description: p.description, Command: "make diagrams", Rules: rules,
	})}
	c.Add("<defs>")
	for _, colour := range []colour{ok, warn, bad, blue} {
		c.Add(`  <marker id="to-%s" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="5" markerHeight="5" orient="auto"><path class="p-%s" d="M0 0L8 4L0 8z"/></marker>`,
			colour, colour)
	}
	c.Add("</defs>")
	c.Add(`<rect class="page" width="%d" height="%d" rx="18"/>`, width, height)
	return c
}

// finished is the picture, or what does not fit.
func (c *canvas) finished() (string, error) { return c.String(), errors.Join(c.errs...) }

// area is a rectangle, in pixels.
type area struct{ x, y, width, height int }

func (a area) middle() int { return a.x + a.width/2 }

// box is one who takes part: names above what it does.
type box struct {
	area
	colour colour
	// dashed: it is not there, or not yet.
	dashed bool
	round  int
	names  []string
	does   string
}

func (c *canvas) box(b box) {
	class := "b-" + string(b.colour)
	if b.dashed {
		class += " dash"
	}
	c.Add(`<rect class="%s" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`, class, b.x, b.y, b.width, b.height, b.round)
	lines := slices.Clone(b.names)
	if b.does != "" {
		lines = append(lines, b.does)
	}
	for n, line := range lines {
		weight, letter := " b", boldLetter
		if n >= len(b.names) {
			weight, letter = " s", smallLetter
		}
		if float64(utf8.RuneCountInString(line))*letter > float64(b.width) {
			c.errs = append(c.errs, fmt.Errorf("%q is too long for its box of %d pixels: use fewer words", line, b.width))
		}
		c.text(b.colour, weight, b.middle(), b.y+b.height/2+5-9*(len(lines)-1)+18*n, "middle", line)
	}
}

// text writes a line. Further classes begin with a blank.
func (c *canvas) text(colour colour, classes string, x, y int, anchor, line string) {
	c.Add(`<text class="t-%s%s" x="%d" y="%d" text-anchor="%s">%s</text>`, colour, classes, x, y, anchor, html.EscapeString(line))
}

// pill names a state, and returns its width.
func (c *canvas) pill(s state, x, y int) int {
	width := 9*len(s.word) + 22
	c.Add(`<rect class="p-%s" x="%d" y="%d" width="%d" height="26" rx="13"/>`, s.colour, x, y, width)
	c.text("pill", " b", x+width/2, y+18, "middle", s.word)
	return width
}

// badge is the number of a step, in a disc whose left upper corner is given. Without a number there is none.
func (c *canvas) badge(colour colour, x, y int, number string) {
	if number == "" {
		return
	}
	c.Add(`<rect class="p-%s" x="%d" y="%d" width="20" height="20" rx="10"/>`, colour, x, y)
	c.text("pill", " b s", x+10, y+15, "middle", number)
}

// arrow is a path with its head at the end.
func (c *canvas) arrow(colour colour, path string) {
	c.Add(`<path class="line l-%s" d="%s" marker-end="url(#to-%s)"/>`, colour, path, colour)
}

func (c *canvas) dashedArrow(colour colour, path string) {
	c.Add(`<path class="line l-%s dash" d="%s" marker-end="url(#to-%s)"/>`, colour, path, colour)
}

// cross says that something does not happen. It is 18 pixels wide.
func (c *canvas) cross(x, y int) {
	c.Add(`<path class="cross" d="M%d %dl18 18m0 -18l-18 18"/>`, x, y)
}
