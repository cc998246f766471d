package main

import "fmt"

// Where things are in a scene, in pixels: who sends requests at the left, then the EndpointSlices, and
// at the right the Pods; below them the operator.
const (
	sceneWidth  = 1000
	sceneHeight = 452
	sceneMargin = 24
)

var (
	proxies    = area{sceneMargin, 76, 190, 72}
	ingresses  = area{sceneMargin, 214, 190, 84}
	listed     = area{330, 66, 330, 92}
	published  = area{330, 200, 330, 112}
	firstPod   = area{756, 82, 104, 56}
	responders = area{756, 226, 216, 60}
	operator   = area{395, 360, 200, 48}
)

// drawScene shows where requests go, and what the operator does.
func drawScene(p picture) (string, error) {
	c, s := newCanvas(p, sceneWidth, sceneHeight), *p.scene
	width := c.pill(s.state, sceneMargin, 20)
	c.text(plain, "", sceneMargin+width+14, 39, "start", s.caption)
	c.box(box{area: proxies, colour: plain, round: 10, names: []string{"kube-proxy, Cilium"}, does: "on every node"})
	c.box(box{area: ingresses, colour: plain, round: 10, names: []string{"ingress controllers,", "DNS, load balancers"}, does: "know ready endpoints only"})
	c.kubernetesSlice(s)
	c.operatorSlices(s)
	c.answerers(s)
	c.proxyRoute(s)
	c.ingressRoute(s)
	c.operator(s)
	c.legend()
	return c.finished()
}

func (c *canvas) slice(where area, title string) {
	c.Add(`<rect class="b-svc" x="%d" y="%d" width="%d" height="%d" rx="10"/>`, where.x, where.y, where.width, where.height)
	c.text(blue, " b", where.x+14, where.y+22, "start", title)
}

// row writes an endpoint, or a note on it, into a slice; and at the right its condition.
func (c *canvas) row(where area, n int, colour colour, classes, line string, is condition) {
	y := where.y + 47 + 22*n
	c.text(colour, classes, where.x+14, y, "start", line)
	c.text(is.colour, " m", where.x+where.width-14, y, "end", is.text)
}

func (c *canvas) kubernetesSlice(s scene) {
	c.slice(listed, "EndpointSlice of Kubernetes")
	n := 0
	for _, pod := range s.pods {
		if pod.address == "" {
			continue
		}
		is := condition{pod.condition, bad}
		if pod.condition == ready {
			is.colour = ok
		}
		c.row(listed, n, plain, " m", pod.address, is)
		n++
	}
}

func (c *canvas) operatorSlices(s scene) {
	c.Add(`<rect class="b-svc" x="%d" y="%d" width="%d" height="%d" rx="10"/>`, published.x+8, published.y+8, published.width, published.height)
	c.slice(published, "EndpointSlices of the operator")
	are := s.conditions()
	c.row(published, 0, plain, " m", standbyAddress, are[0])
	c.row(published, 1, muted, " s", "one slice per Pod,", are[1])
	c.row(published, 2, muted, " s", "which owns it", are[2])
}

// answerers are the Pods at the right, and how requests come to them.
func (c *canvas) answerers(s scene) {
	for n, pod := range s.pods {
		where := firstPod
		where.x += 112 * n
		c.answerer(where, pod.name, pod.condition, ok, pod.condition == ready)
	}
	if s.podsAnswer() {
		c.arrow(ok, "M660 112H748")
		c.badge(ok, 698, 90, s.proxy.number)
	} else {
		c.cross(699, 103)
	}
	standby := box{area: responders, colour: muted, round: 10, names: []string{"responder Pods"}, does: s.standby}
	switch s.standbyIs() {
	case used:
		standby.colour = warn
		c.arrow(warn, "M660 256H748")
	case leaving:
		c.dashedArrow(warn, "M660 256H748")
		c.text(warn, " s", 708, 246, "middle", "until "+s.write.number)
	case unused:
		// No request comes.
	}
	c.box(standby)
}

func (c *canvas) proxyRoute(s scene) {
	if s.proxies() == toPods {
		c.arrow(ok, "M214 112H322")
		c.badge(ok, 262, 90, s.proxy.number)
		return
	}
	c.arrow(warn, "M214 112C285 125 270 205 322 228")
	c.badge(warn, 240, 98, s.proxy.number)
	c.text(warn, " s", 266, 112, "start", s.proxy.note)
}

func (c *canvas) ingressRoute(s scene) {
	switch s.ingresses() {
	case toPods:
		c.arrow(ok, "M214 240C270 225 280 160 322 138")
	case toStandby:
		c.arrow(warn, "M214 262H322")
		c.badge(warn, 262, 270, s.ingress.number)
		c.text(warn, " s", 268, 305, "middle", s.ingress.note)
	case nowhere:
		c.arrow(bad, "M214 270H276")
		c.cross(285, 261)
		c.badge(bad, 235, 280, s.ingress.number)
		c.text(bad, " s", ingresses.middle(), 320, "middle", s.ingress.note)
	}
}

func (c *canvas) operator(s scene) {
	b := box{area: operator, colour: plain, round: 10, names: []string{"operator"}, does: s.operator}
	if s.stopped {
		b.colour, b.dashed = muted, true
		c.box(b)
		c.cross(operator.x+operator.width+11, operator.y+15)
		return
	}
	c.box(b)
	c.dashedArrow(blue, fmt.Sprintf("M%d %dV328", operator.middle(), operator.y))
	c.badge(s.answers(), operator.middle()+12, 330, s.write.number)
	if s.write.note != "" {
		c.text(muted, " s", operator.middle()+14, 344, "start", s.write.note)
	}
}

func (c *canvas) legend() {
	c.Add(`<path class="line l-muted" d="M%d 428h40"/>`, sceneMargin)
	c.text(muted, " s", 72, 432, "start", "requests")
	c.Add(`<path class="line l-svc dash" d="M160 428h40"/>`)
	c.text(muted, " s", 208, 432, "start", "what the operator reads and writes")
}
