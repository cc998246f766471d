package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Where things are in a story, in pixels: a panel for each moment, and below them a bar.
const (
	storyWidth  = 1200
	storyHeight = 414
	storyMargin = 16
	panelWidth  = 280
	panelGap    = 16
	panelHeight = 330
	barLeft     = 131
	barTop      = 368
	barHeight   = 30
)

func panelLeft(n int) int { return storyMargin + n*(panelWidth+panelGap) }

// drawStory shows moments side by side, and who answers below them.
func drawStory(p picture) (string, error) {
	c := newCanvas(p, storyWidth, storyHeight)
	for n, m := range p.story {
		c.panel(m, panelLeft(n), n+1)
	}
	c.text(muted, "", storyMargin, barTop+20, "start", "who answers")
	for _, part := range answering(p.story) {
		c.Add(`<rect class="p-%s" x="%d" y="%d" width="%d" height="%d" rx="5"/>`, part.colour, part.left, barTop, part.right-part.left, barHeight)
		c.text("pill", " b", (part.left+part.right)/2, barTop+20, "middle", part.who)
	}
	return c.finished()
}

// panel draws one moment.
func (c *canvas) panel(m moment, left, number int) {
	c.Add(`<rect class="panel" x="%d" y="%d" width="%d" height="%d" rx="14"/>`, left, storyMargin, panelWidth, panelHeight)
	c.pill(m.state, left+16, 30)
	c.text(muted, " n", left+262, 50, "end", strconv.Itoa(number))

	middle := left + panelWidth/2
	c.box(box{area: area{middle - 46, 70, 92, 32}, colour: plain, round: 16, names: []string{"clients"}})
	c.box(box{area: area{middle - 66, 132, 132, 38}, colour: blue, round: 8, names: []string{"Service"}})
	c.arrow(m.answers(), fmt.Sprintf("M%d 102V125", middle))
	for n, pod := range m.pods {
		isReady := pod.condition == ready
		c.answerer(area{left + 10 + 86*n, 224, 80, 52}, pod.name, pod.condition, ok, isReady)
		if isReady {
			c.arrow(ok, fmt.Sprintf("M%d 170L%d 216", middle-22+22*n, left+50+86*n))
		}
	}
	c.answerer(area{left + 182, 224, 88, 52}, "standby", m.standby, warn, !m.podsAnswer())
	if !m.podsAnswer() {
		c.arrow(warn, fmt.Sprintf("M%d 170L%d 216", middle+22, left+226))
	}
	first, second, _ := strings.Cut(m.caption, "\n")
	c.text(plain, "", middle, 308, "middle", first)
	c.text(muted, "", middle, 329, "middle", second)
}

// answerer is a box that has its colour while it answers.
func (c *canvas) answerer(where area, name, does string, colour colour, answers bool) {
	b := box{area: where, colour: muted, dashed: true, round: 10, names: []string{name}, does: does}
	if answers {
		b.colour, b.dashed = colour, false
	}
	c.box(b)
}

// part is a piece of the bar.
type part struct {
	left, right int
	who         string
	colour      colour
}

// answering are the pieces of the bar: moments with the same answer are one.
func answering(story []moment) []part {
	var parts []part
	for n, m := range story {
		who := "the standby"
		if m.podsAnswer() {
			who = "its Pods"
		}
		left := panelLeft(n) - panelGap/2 + 1
		if n == 0 {
			left = barLeft
		}
		right := panelLeft(n) + panelWidth + panelGap/2 - 1
		if last := len(parts) - 1; last >= 0 && parts[last].who == who {
			parts[last].right = right
			continue
		}
		parts = append(parts, part{left, right, who, m.answers()})
	}
	if len(parts) > 0 {
		parts[len(parts)-1].right = panelLeft(len(story)-1) + panelWidth
	}
	return parts
}
