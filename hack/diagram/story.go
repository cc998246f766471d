package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Where things are in a story, in pixels: a panel for each moment, and below them a bar. A README is
// about 840 pixels wide: what is wider than here becomes too small to read.
const (
	storyWidth  = 1000
	storyHeight = 418
	storyMargin = 15
	panelWidth  = 232
	panelGap    = 14
	panelHeight = 340
	barTop      = 372
	barHeight   = 30
)

func panelLeft(n int) int { return storyMargin + n*(panelWidth+panelGap) }

// drawStory shows moments side by side, and who answers below them.
func drawStory(p picture) (string, error) {
	c := newCanvas(p, storyWidth, storyHeight)
	for n, m := range p.story {
		c.panel(m, panelLeft(n), n+1)
	}
	for _, part := range answering(p.story) {
		c.Add(`<rect class="p-%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>`, part.colour, part.left, barTop, part.right-part.left, barHeight)
		c.text("pill", " b", (part.left+part.right)/2, barTop+20, "middle", part.moments+": "+part.who)
	}
	return c.finished()
}

// panel draws one moment.
func (c *canvas) panel(m moment, left, number int) {
	c.Add(`<rect class="panel" x="%d" y="%d" width="%d" height="%d" rx="14"/>`, left, storyMargin, panelWidth, panelHeight)
	c.pill(m.state, left+14, 29)
	c.text(muted, " n", left+panelWidth-16, 49, "end", strconv.Itoa(number))

	c.box(box{area: area{left + 10, 72, 86, 32}, colour: plain, round: 16, names: []string{"clients"}})
	c.arrow(m.answers(), fmt.Sprintf("M%d 104V141", left+53))
	c.box(box{area: area{left + 110, 72, 112, 32}, colour: plain, round: 16, names: []string{"ingress, DNS"}})
	c.readyOnly(m, left+166)
	c.box(box{area: area{left + 10, 148, 212, 38}, colour: blue, round: 8, names: []string{"Service"}})
	for n, pod := range m.pods {
		isReady := pod.condition == ready
		c.answerer(area{left + 6 + 72*n, 238, 66, 52}, pod.name, pod.condition, ok, isReady)
		if isReady {
			c.arrow(ok, fmt.Sprintf("M%d 186V231", left+39+72*n))
		}
	}
	c.answerer(area{left + 150, 238, 76, 52}, "standby", m.standby, warn, !m.podsAnswer())
	if !m.podsAnswer() {
		c.arrow(warn, fmt.Sprintf("M%d 186V231", left+188))
	}
	first, second, _ := strings.Cut(m.caption, "\n")
	c.text(plain, "", left+panelWidth/2, 320, "middle", first)
	c.text(muted, "", left+panelWidth/2, 341, "middle", second)
}

// readyOnly is how the consumers of ready endpoints reach the Service, down from their box.
func (c *canvas) readyOnly(m moment, x int) {
	if m.ingresses() == nowhere {
		c.arrow(bad, fmt.Sprintf("M%d 104V114", x))
		c.cross(x-9, 123)
		return
	}
	c.arrow(m.answers(), fmt.Sprintf("M%d 104V141", x))
}

// answerer is a box that has its colour while it answers.
func (c *canvas) answerer(where area, name, does string, colour colour, answers bool) {
	b := box{area: where, colour: muted, dashed: true, round: 10, names: []string{name}, does: does}
	if answers {
		b.colour, b.dashed = colour, false
	}
	c.box(b)
}

// part is a piece of the bar. It names its moments by their numbers: the bar is no axis of time.
type part struct {
	left, right  int
	moments, who string
	colour       colour
}

// answering are the pieces of the bar: moments with the same answer are one.
func answering(story []moment) []part {
	var parts []part
	for n, m := range story {
		who := "the standby answers"
		if m.podsAnswer() {
			who = "Pods answer"
		}
		number, right := strconv.Itoa(n+1), panelLeft(n)+panelWidth
		if last := len(parts) - 1; last >= 0 && parts[last].who == who {
			parts[last].right = right
			parts[last].moments += " and " + number
			continue
		}
		parts = append(parts, part{panelLeft(n), right, number, who, m.answers()})
	}
	return parts
}
