package responder

import (
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// mostHTTP2 connections may be open: each can hold as much memory as several
// others, by its streams.
const mostHTTP2 = 128

// answerTimeout is how long an answer keeps its connection from being displaced. A
// client that has not taken it by then holds it on purpose, or is gone.
const answerTimeout = 10 * time.Second

// silentShare is the part of --first-byte-timeout that a silent client has when
// there is no free place.
const silentShare = 4

// progress is how far a connection is.
type progress int32

const (
	// opened: the client has sent nothing.
	opened progress = iota
	// waiting: it has begun a request, or is answered and has not left.
	waiting
	// answering: it has sent a whole request, and is being answered.
	answering
)

// place is one of the places for connections.
type place struct {
	port    int32
	service string
	// client is the address from which the connection comes. That of a PROXY header
	// is no proof of anything.
	client netip.Addr
	since  time.Time
	// displace closes the connection in favor of another one.
	displace func()
	progress atomic.Int32
	// index in the gate's list, and isHTTP2, belong to the gate.
	index   int
	isHTTP2 bool
}

// is records how far the connection is.
func (p *place) is(now progress) { p.progress.Store(int32(now)) }

// gate gives out the places for connections. Every connection gets one while there
// are free ones. Then a newcomer whose Service or address has fewer places than
// another's takes the oldest of those that wait for their client. So the clients of one
// Service, or at one address, do not keep out the others; and yet all clients may
// share an address, as they do behind the proxy of a node.
type gate struct {
	// most and mostPerListener may be open. The latter bounds the memory that
	// the clients of one listener can take while the others have none.
	most, mostPerListener int
	// silence is how long a client may be silent if there is no free place.
	silence time.Duration

	mu          sync.Mutex
	open        []*place
	perListener map[int32]int
	perService  map[string]int
	perClient   map[netip.Addr]int
	http2       int
}

func newGate(most, mostPerListener int, firstByteTimeout time.Duration) *gate {
	return &gate{
		most: most, mostPerListener: mostPerListener, silence: firstByteTimeout / silentShare,
		perListener: map[int32]int{}, perService: map[string]int{}, perClient: map[netip.Addr]int{},
	}
}

// count is how many connections are open.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)
}

// enter takes a place, if there is one for it. leave gives it back.
func (g *gate) enter(p *place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok := true
	switch {
	case g.perListener[p.port] >= g.mostPerListener:
		ok = g.makeRoom(p, func(other *place) bool { return other.port == p.port })
	case len(g.open) >= g.most:
		ok = g.makeRoom(p, func(*place) bool { return true })
	}
	if ok {
		g.add(p)
	}
	return ok
}

// enterHTTP2 takes one of the places for HTTP/2, if there is one for it, besides the
// one that the connection has.
func (g *gate) enterHTTP2(p *place) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok := g.has(p)
	if ok && g.http2 >= mostHTTP2 {
		ok = g.makeRoom(p, func(other *place) bool { return other.isHTTP2 })
	}
	if ok {
		p.isHTTP2 = true
		g.http2++
	}
	return ok
}

// leave gives a place back, unless another connection has taken it.
func (g *gate) leave(p *place) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.remove(p)
}

// makeRoom takes the place of another connection from it, if there is one among
// those that match and that the newcomer may displace: of the Service, then of the
// address that has most, the oldest.
func (g *gate) makeRoom(newcomer *place, match func(*place) bool) bool {
	var chosen *place
	now := time.Now()
	for _, other := range g.open {
		if match(other) && g.mayDisplace(newcomer, other, now) && (chosen == nil || g.isBefore(other, chosen)) {
			chosen = other
		}
	}
	if chosen == nil {
		return false
	}
	g.remove(chosen)
	chosen.displace()
	return true
}

func (g *gate) mayDisplace(newcomer, other *place, now time.Time) bool {
	age, at := now.Sub(other.since), progress(other.progress.Load())
	switch {
	case at == answering && age < answerTimeout:
		return false
	case at == opened && age > g.silence:
		return true
	}
	// One more than the newcomer's has now, or two would displace each other in turn.
	return g.perService[newcomer.service]+1 < g.perService[other.service] ||
		g.perClient[newcomer.client]+1 < g.perClient[other.client]
}

// isBefore reports whether one place is to be taken rather than the other.
func (g *gate) isBefore(one, other *place) bool {
	if a, b := g.perService[one.service], g.perService[other.service]; a != b {
		return a > b
	}
	if a, b := g.perClient[one.client], g.perClient[other.client]; a != b {
		return a > b
	}
	return one.since.Before(other.since)
}

func (g *gate) add(p *place) {
	p.index = len(g.open)
	g.open = append(g.open, p)
	g.perListener[p.port]++
	g.perService[p.service]++
	g.perClient[p.client]++
}

// has reports whether a connection has a place, which another one may have taken.
func (g *gate) has(p *place) bool { return p.index < len(g.open) && g.open[p.index] == p }

func (g *gate) remove(p *place) {
	if !g.has(p) {
		return
	}
	last := len(g.open) - 1
	g.open[p.index] = g.open[last]
	g.open[p.index].index = p.index
	g.open[last] = nil
	g.open = g.open[:last]
	if p.isHTTP2 {
		g.http2--
	}
	decrease(g.perListener, p.port)
	decrease(g.perService, p.service)
	decrease(g.perClient, p.client)
}

// decrease counts down, and forgets what has none.
func decrease[K comparable](counts map[K]int, key K) {
	counts[key]--
	if counts[key] == 0 {
		delete(counts, key)
	}
}
