package main

import "strconv"

// colour is a class of the style.
type colour string

const (
	ok    colour = "ok"
	warn  colour = "warn"
	bad   colour = "bad"
	blue  colour = "svc"
	muted colour = "muted"
	plain colour = "text"
)

// state is what a Service is called, and how that looks.
type state struct {
	word   string
	colour colour
}

var (
	armed   = state{"Armed", ok}
	covered = state{"Covered", warn}
	outage  = state{"Outage", bad}
	// promotion is no state of its own in the API: the Service is covered, for all clients.
	promotion = state{"Promoted", warn}
)

// pod is one of the application.
type pod struct {
	name string
	// address is empty while no EndpointSlice lists it.
	address   string
	condition string
}

const (
	ready    = "ready"
	notReady = "not ready"
	gone     = "gone"
	starting = "starting"
)

// moment is how things are with a Service: what all pictures tell.
type moment struct {
	state   state
	caption string
	pods    [2]pod
	// standby says what the standby does.
	standby string
	// promoted is whether the standby is, when the operator has done its part.
	promoted bool
}

// podsAnswer is the rule of kube-proxy: a standby is used while no endpoint is ready.
func (m moment) podsAnswer() bool {
	return m.pods[0].condition == ready || m.pods[1].condition == ready
}

// answers is the colour of requests: whether an application or the standby answers them.
func (m moment) answers() colour {
	if m.podsAnswer() {
		return ok
	}
	return warn
}

// scene is a moment with all that Kubernetes and the operator do in it.
type scene struct {
	moment
	// wasPromoted is whether the standby was, before what the operator does.
	wasPromoted bool
	// operator says what it does. With stopped it does nothing.
	operator string
	stopped  bool
	// What happens one after the other: on the arrow of kube-proxy, on that of the operator, on that
	// of the consumers of ready endpoints.
	proxy, write, ingress step
}

// step is a number beside an arrow, or a note, or both.
type step struct{ number, note string }

// condition is one of an endpoint, as the operator's slice shows it.
type condition struct {
	text   string
	colour colour
}

// conditions are those of the standby's endpoint: ready if it is promoted, and terminating if not.
func (s scene) conditions() []condition {
	change := func(name string, before, after bool, colour colour) condition {
		text := name + ": " + strconv.FormatBool(before)
		if before != after {
			return condition{text + " → " + strconv.FormatBool(after), warn}
		}
		return condition{text, colour}
	}
	before, after := s.wasPromoted, s.promoted
	return []condition{
		change("ready", before, after, muted), {"serving: true", ok}, change("terminating", !before, !after, warn),
	}
}

// use is how the standby is used.
type use int

const (
	unused use = iota
	// leaving: it answers beside ready Pods, until it is demoted.
	leaving
	used
)

func (s scene) standbyIs() use {
	switch {
	case !s.podsAnswer():
		return used
	case s.wasPromoted:
		return leaving
	}
	return unused
}

// route is where requests of a consumer go.
type route int

const (
	nowhere route = iota
	toPods
	toStandby
)

// proxies is the route of kube-proxy, which knows standbys by itself.
func (m moment) proxies() route {
	if m.podsAnswer() {
		return toPods
	}
	return toStandby
}

// ingresses is the route of the consumers of ready endpoints, when the operator has done its part.
func (m moment) ingresses() route {
	switch {
	case m.podsAnswer():
		return toPods
	case m.promoted:
		return toStandby
	}
	return nowhere
}
