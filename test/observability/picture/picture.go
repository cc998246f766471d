// Package picture draws what was measured over time as an SVG: bands that say what held
// when, and curves of numbers, all over the same axis of seconds. It looks like the
// other pictures of docs/images, and is as readable on a dark page.
package picture

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/critical-service/operator/hack/svg"
)

// Picture is what is drawn, from the top down. The SVG holds it too, so that a picture can be compared
// with its figures, and drawn again without another measurement. All times are in seconds.
type Picture struct {
	// Title and Description are for those who cannot see it.
	Title       string `json:"title"`
	Description string `json:"description"`
	// Command is what measures it again.
	Command string `json:"command"`
	// Start and End bound the axis. Second 0 stands out, unless it is the start.
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Lanes []Lane  `json:"lanes"`
}

// Lane is a band or a graph. Pieces make a band, Curves a graph.
type Lane struct {
	Label  string  `json:"label"`
	Pieces []Piece `json:"pieces,omitempty"`
	Curves []Curve `json:"curves,omitempty"`
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
	From   float64 `json:"from"`
	To     float64 `json:"to"`
	Text   string  `json:"text"`
	Colour Colour  `json:"colour"`
}

// Curve is a line of a graph.
type Curve struct {
	Name   string `json:"name"`
	Colour Colour `json:"colour"`
	// Steps: the value holds until the next point.
	Steps  bool    `json:"steps,omitempty"`
	Points []Point `json:"points"`
}

// Point is when a value was measured, and the value.
type Point [2]float64

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
	// perLetter is how wide a letter is, about.
	perLetter = 8
)

const rules = `
text { font-family: ` + svg.Sans + `; font-size: 15px; }
.b { font-weight: 600; }
.s { font-size: 13px; }
.line { fill: none; stroke-width: 2.5; stroke-linejoin: round; }
.grid { stroke: $border; stroke-width: 1; }
.zero { stroke: $bad; stroke-width: 1.5; stroke-dasharray: 5 4; }
.page { fill: $page; }
.text { fill: $text; }
.t-pill { fill: $paper; }
.muted, .p-muted, .t-muted { fill: $muted; }
.l-muted { stroke: $muted; }
.t-ok, .p-ok { fill: $ok; }
.l-ok { stroke: $ok; }
.t-warn, .p-warn { fill: $warn; }
.l-warn { stroke: $warn; }
.t-bad, .p-bad { fill: $bad; }
.l-bad { stroke: $bad; }
.t-svc, .p-svc { fill: $svc; }
.l-svc { stroke: $svc; }
`

// canvas collects the elements.
type canvas struct {
	*svg.Drawing
	picture Picture
}

// x is where a moment is.
func (c *canvas) x(second float64) float64 {
	share := (second - c.picture.Start) / (c.picture.End - c.picture.Start)
	return left + min(max(share, 0), 1)*(right-left)
}

// SVG draws the picture. It fails at a number that is none, or infinite.
func (p Picture) SVG() (string, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return "", fmt.Errorf("the figures of a picture: %w", err)
	}
	// It is drawn from what it holds, so that it comes out the same again.
	if p, err = parse(data); err != nil {
		return "", err
	}
	height := margin + axisHigh
	for _, lane := range p.Lanes {
		height += lane.height() + gap
	}
	c := &canvas{picture: p, Drawing: svg.New(svg.Head{
		Width: width, Height: height, Title: p.Title, Description: p.Description, Command: p.Command, Rules: rules,
	})}
	c.Add(`<rect class="page" width="%d" height="%d" rx="18"/>`, width, height)
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
	c.Add(Figures+"%s</metadata>", data)
	return c.String(), nil
}

func (l Lane) height() int {
	if len(l.Curves) > 0 {
		return graphHigh
	}
	return bandHigh
}

// axis draws a line for every round number of seconds.
func (c *canvas) axis(height int) {
	bottom := height - axisHigh
	total := c.picture.End - c.picture.Start
	step := 5.0
	for _, wider := range []float64{10, 15, 30, 60, 120, 300} {
		if total/step <= 12 {
			break
		}
		step = wider
	}
	first := math.Ceil(c.picture.Start/step)*step + 0 // Not -0, as of a picture that begins just before it.
	for second := first; second <= c.picture.End; second += step {
		class, x := "grid", c.x(second)
		if second == 0 && second > c.picture.Start {
			class = "zero"
		}
		c.Add(`<line class="%s" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/>`, class, x, margin, x, bottom)
		c.Add(`<text class="muted s" x="%.1f" y="%d" text-anchor="middle">%.0f s</text>`, x, bottom+20, second)
	}
}

// band draws pieces with their texts in them. A text without room stands below its piece, if no other does.
func (c *canvas) band(lane Lane, y int) {
	taken := 0.0
	c.Add(`<text class="text" x="%d" y="%d">%s</text>`, margin, y+20, html.EscapeString(lane.Label))
	for _, piece := range lane.Pieces {
		from, to := c.x(piece.From), c.x(piece.To)
		c.Add(`<rect class="p-%s" x="%.1f" y="%d" width="%.1f" height="%d" rx="5"/>`, piece.Colour, from, y, max(to-from, 2), bandHigh)
		middle, wide := (from+to)/2, float64(len(piece.Text)*perLetter)
		class, line := "t-pill", y+20
		if wide >= to-from {
			if middle-wide/2 < taken {
				continue
			}
			class, line, taken = "t-"+string(piece.Colour), y+bandHigh+16, middle+wide/2
		}
		c.Add(`<text class="%s b" x="%.1f" y="%d" text-anchor="middle">%s</text>`, class, middle, line, html.EscapeString(piece.Text))
	}
}

func (c *canvas) graph(lane Lane, y int) {
	c.Add(`<text class="text" x="%d" y="%d">%s</text>`, margin, y+16, html.EscapeString(lane.Label))
	top := 0.0
	for n, curve := range lane.Curves {
		c.Add(`<text class="t-%s b" x="%d" y="%d">%s</text>`, curve.Colour, margin, y+40+n*20, html.EscapeString(curve.Name))
		for _, point := range curve.Points {
			top = max(top, point[1])
		}
	}
	top = math.Max(math.Ceil(top), 1)
	if top > 10 {
		top = math.Ceil(top/10) * 10
	}
	c.Add(`<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/>`, left, y+graphHigh, right, y+graphHigh)
	c.Add(`<text class="muted s" x="%d" y="%d" text-anchor="end">0</text>`, left-8, y+graphHigh+4)
	c.Add(`<text class="muted s" x="%d" y="%d" text-anchor="end">%.0f</text>`, left-8, y+12, top)
	for _, curve := range lane.Curves {
		c.Add(`<path class="line l-%s" d="%s"/>`, curve.Colour, c.path(curve, y, top))
	}
}

func (c *canvas) path(curve Curve, y int, top float64) string {
	var path strings.Builder
	height, last := func(value float64) float64 { return float64(y+graphHigh) - value/top*(graphHigh-4) }, 0.0
	for n, point := range curve.Points {
		x, at := c.x(point[0]), height(point[1])
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
