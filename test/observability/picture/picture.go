// Package picture draws what was measured over time as an SVG: bands that say what held
// when, and curves of numbers, all over the same axis of seconds. It looks like the
// other pictures of docs/images, and is as readable on a dark page.
package picture

import (
	"fmt"
	"html"
	"math"
	"strings"
	"time"
)

// Picture is what is drawn, from the top down.
type Picture struct {
	// Title and Description are for those who cannot see it.
	Title, Description string
	// Start and End bound the axis; Zero is its second 0.
	Start, End, Zero time.Time
	Lanes            []Lane
}

// Lane is a band or a graph. Pieces make a band, Curves a graph.
type Lane struct {
	Label  string
	Pieces []Piece
	Curves []Curve
}

// Colour is a class of the style: what the colours mean is the same in all pictures.
type Colour string

// The colours.
const (
	OK    Colour = "ok"
	Warn  Colour = "warn"
	Bad   Colour = "bad"
	Muted Colour = "muted"
	Plain Colour = "svc"
)

// Piece is a part of a band.
type Piece struct {
	From, To time.Time
	Text     string
	Colour   Colour
}

// Curve is a line of a graph.
type Curve struct {
	Name   string
	Colour Colour
	Points []Point
	// Steps: the value holds until the next point.
	Steps bool
}

// Point is one measured value.
type Point struct {
	At    time.Time
	Value float64
}

// Where things are, in pixels.
const (
	width     = 1200
	left      = 206
	right     = 1176
	margin    = 16
	bandHigh  = 30
	graphHigh = 110
	gap       = 22
	axisHigh  = 52
	// perLetter is how wide a letter is, about: a text that does not fit into its piece is left out.
	perLetter = 8
)

const style = `  <style>
    text { font-family: -apple-system, BlinkMacSystemFont, "Segoe UI", "Noto Sans", Helvetica, Arial, "DejaVu Sans", sans-serif; font-size: 15px; }
    .b { font-weight: 600; }
    .s { font-size: 13px; }
    .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
    .grid { stroke: #d0d7de; stroke-width: 1; }
    .zero { stroke: #cf222e; stroke-width: 1.5; stroke-dasharray: 5 4; }
    .page { fill: #f6f8fa; }
    .panel { fill: #ffffff; stroke: #d0d7de; }
    .text { fill: #1f2328; }
    .t-pill { fill: #ffffff; }
    .muted, .p-muted { fill: #59636e; }
    .l-muted { stroke: #59636e; }
    .t-ok, .p-ok { fill: #1a7f37; }
    .l-ok { stroke: #1a7f37; }
    .t-warn, .p-warn { fill: #9a6700; }
    .l-warn { stroke: #9a6700; }
    .t-bad, .p-bad { fill: #cf222e; }
    .l-bad { stroke: #cf222e; }
    .t-svc, .p-svc { fill: #0969da; }
    .l-svc { stroke: #0969da; }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; }
      .panel { fill: #161b22; stroke: #30363d; }
      .grid { stroke: #30363d; }
      .zero { stroke: #f85149; }
      .text { fill: #e6edf3; }
      .t-pill { fill: #0d1117; }
      .muted, .p-muted { fill: #9198a1; }
      .l-muted { stroke: #9198a1; }
      .t-ok, .p-ok { fill: #3fb950; }
      .l-ok { stroke: #3fb950; }
      .t-warn, .p-warn { fill: #d29922; }
      .l-warn { stroke: #d29922; }
      .t-bad, .p-bad { fill: #f85149; }
      .l-bad { stroke: #f85149; }
      .t-svc, .p-svc { fill: #4493f8; }
      .l-svc { stroke: #4493f8; }
    }
  </style>
`

// canvas collects the elements.
type canvas struct {
	strings.Builder
	picture Picture
}

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(c, "  "+format+"\n", args...) }

// x is where a moment is.
func (c *canvas) x(at time.Time) float64 {
	share := float64(at.Sub(c.picture.Start)) / float64(c.picture.End.Sub(c.picture.Start))
	return left + min(max(share, 0), 1)*(right-left)
}

// SVG draws the picture.
func (p Picture) SVG() string {
	height := margin + axisHigh
	for _, lane := range p.Lanes {
		height += lane.height() + gap
	}
	c := &canvas{picture: p}
	fmt.Fprintf(c, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-labelledby=\"title desc\">\n",
		width, height, width, height)
	c.add(`<title id="title">%s</title>`, html.EscapeString(p.Title))
	c.add(`<desc id="desc">%s</desc>`, html.EscapeString(p.Description))
	c.WriteString(style)
	c.add(`<rect class="page" width="%d" height="%d"/>`, width, height)
	c.axis(height)
	y := margin
	for _, lane := range p.Lanes {
		if len(lane.Curves) > 0 {
			c.graph(lane, y)
		} else {
			c.band(lane, y)
		}
		y += lane.height() + gap
	}
	c.WriteString("</svg>\n")
	return c.String()
}

func (l Lane) height() int {
	if len(l.Curves) > 0 {
		return graphHigh
	}
	return bandHigh
}

// axis draws a line for every round number of seconds, and one that stands out at 0.
func (c *canvas) axis(height int) {
	bottom := height - axisHigh
	total := c.picture.End.Sub(c.picture.Start).Seconds()
	step := 5.0
	for _, wider := range []float64{10, 15, 30, 60, 120, 300} {
		if total/step <= 12 {
			break
		}
		step = wider
	}
	first := math.Ceil(c.picture.Start.Sub(c.picture.Zero).Seconds()/step) * step
	for second := first; second <= c.picture.End.Sub(c.picture.Zero).Seconds(); second += step {
		class, x := "grid", c.x(c.picture.Zero.Add(time.Duration(second*float64(time.Second))))
		if second == 0 {
			class = "zero"
		}
		c.add(`<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, class, x, margin, x, bottom)
		c.add(`<text class="muted s" x="%.1f" y="%d" text-anchor="middle">%.0f s</text>`, x, bottom+20, second)
	}
}

func (c *canvas) band(lane Lane, y int) {
	c.add(`<text class="text" x="%d" y="%d">%s</text>`, margin, y+20, html.EscapeString(lane.Label))
	for _, piece := range lane.Pieces {
		from, to := c.x(piece.From), c.x(piece.To)
		c.add(`<rect class="p-%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="5"/>`, piece.Colour, from, y, max(to-from, 2), bandHigh)
		if to-from > float64(len(piece.Text)*perLetter) {
			c.add(`<text class="t-pill b" x="%.1f" y="%d" text-anchor="middle">%s</text>`, (from+to)/2, y+20, html.EscapeString(piece.Text))
		}
	}
}

func (c *canvas) graph(lane Lane, y int) {
	c.add(`<text class="text" x="%d" y="%d">%s</text>`, margin, y+16, html.EscapeString(lane.Label))
	top := 0.0
	for n, curve := range lane.Curves {
		c.add(`<text class="t-%s b" x="%d" y="%d">%s</text>`, curve.Colour, margin, y+40+n*20, html.EscapeString(curve.Name))
		for _, point := range curve.Points {
			top = max(top, point.Value)
		}
	}
	top = math.Max(math.Ceil(top), 1)
	if top > 10 {
		top = math.Ceil(top/10) * 10
	}
	c.add(`<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`, left, y+graphHigh, right, y+graphHigh)
	c.add(`<text class="muted s" x="%d" y="%d" text-anchor="end">0</text>`, left-8, y+graphHigh+4)
	c.add(`<text class="muted s" x="%d" y="%d" text-anchor="end">%.0f</text>`, left-8, y+12, top)
	for _, curve := range lane.Curves {
		c.add(`<path class="line l-%s" d="%s"/>`, curve.Colour, c.path(curve, y, top))
	}
}

func (c *canvas) path(curve Curve, y int, top float64) string {
	var path strings.Builder
	height, last := func(value float64) float64 { return float64(y+graphHigh) - value/top*(graphHigh-4) }, 0.0
	for n, point := range curve.Points {
		x, at := c.x(point.At), height(point.Value)
		switch {
		case n == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", x, at)
		case curve.Steps && at != last:
			fmt.Fprintf(&path, "H%.1fV%.1f", x, at)
		case curve.Steps:
			fmt.Fprintf(&path, "H%.1f", x)
		default:
			fmt.Fprintf(&path, "L%.1f %.1f", x, at)
		}
		last = at
	}
	return path.String()
}
