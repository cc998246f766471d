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

// A responder that got no processor for a while finds many clients at once. Those over the limit wait up to
// roomTimeout for the others to be answered and to leave. A listener on which none left in that time is taken by
// clients that stay: there no one waits for the next hopelessFor, so that a flood does not hold up the rest. The same
// holds where newcomers have waited one after the other for queueFor: those behind them, whom the kernel keeps, may be
// of others.
const (
	roomTimeout = 200 * time.Millisecond
	queueFor    = 2 * time.Second
	hopelessFor = time.Second
)

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
	// What follows belongs to the gate: the index in its list, and how many places the Service and the client have, which
	// all their places share. A full gate compares all places for each newcomer, and would look both up each time.
	index               int
	ofService, ofClient *int
	isHTTP2             bool
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
	perListener map[int32]*int
	perService  map[string]*int
	perClient   map[netip.Addr]*int
	http2       int
	// freed is closed when a place becomes free; nil if no one waits.
	freed chan struct{}
	// hopeless says of a listener until when no one waits for a place.
	hopeless map[int32]time.Time
	queues   map[int32]queue
}

// queue is when newcomers of a listener began to wait one after the other, and when the last one did.
type queue struct{ began, last time.Time }

func newGate(most, mostPerListener int, firstByteTimeout time.Duration) *gate {
	return &gate{
		most: most, mostPerListener: mostPerListener, silence: firstByteTimeout / silentShare,
		perListener: map[int32]*int{}, perService: map[string]*int{}, perClient: map[netip.Addr]*int{},
		hopeless: map[int32]time.Time{}, queues: map[int32]queue{},
	}
}

// count is how many connections are open.
func (g *gate) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.open)
}

// enter takes a place, if there is one for it or soon becomes free. leave gives it back.
func (g *gate) enter(p *place) bool {
	end := time.NewTimer(roomTimeout)
	defer end.Stop()
	for {
		ok, freed := g.tryEnter(p)
		if ok || freed == nil {
			return ok
		}
		select {
		case <-freed:
		case <-end.C:
			g.giveUp(p.port)
			return false
		}
	}
}

// giveUp lets no one wait for a place of a listener for some time.
func (g *gate) giveUp(port int32) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hopeless[port] = time.Now().Add(hopelessFor)
}

// tryEnter takes a place, if there is one now. Else it returns what is closed when one becomes free, or nil if it is
// hopeless to wait.
func (g *gate) tryEnter(p *place) (ok bool, freed <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	ok = true
	switch {
	case countOf(g.perListener, p.port) >= g.mostPerListener:
		ok = g.makeRoom(p, func(other *place) bool { return other.port == p.port })
	case len(g.open) >= g.most:
		ok = g.makeRoom(p, func(*place) bool { return true })
	}
	switch {
	case ok:
		g.add(p)
	case g.mayWait(p.port, time.Now()):
		if g.freed == nil {
			g.freed = make(chan struct{})
		}
		freed = g.freed
	}
	return ok, freed
}

// mayWait reports whether it makes sense to wait for a place of a listener.
func (g *gate) mayWait(port int32, now time.Time) bool {
	if !now.After(g.hopeless[port]) {
		return false
	}
	q := g.queues[port]
	if now.Sub(q.last) > hopelessFor {
		q.began = now
	}
	q.last = now
	g.queues[port] = q
	if now.Sub(q.began) <= queueFor {
		return true
	}
	delete(g.queues, port)
	g.hopeless[port] = now.Add(hopelessFor)
	return false
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
	now, ofService, ofClient := time.Now(), countOf(g.perService, newcomer.service), countOf(g.perClient, newcomer.client)
	for _, other := range g.open {
		if match(other) && g.mayDisplace(ofService, ofClient, other, now) && (chosen == nil || isBefore(other, chosen)) {
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

// mayDisplace reports whether a newcomer, whose Service and client have so many places, may take that of another.
func (g *gate) mayDisplace(ofService, ofClient int, other *place, now time.Time) bool {
	age, at := now.Sub(other.since), progress(other.progress.Load())
	switch {
	case at == answering && age < answerTimeout:
		return false
	case at == opened && age > g.silence:
		return true
	}
	// One more than the newcomer's has now, or two would displace each other in turn.
	return ofService+1 < *other.ofService || ofClient+1 < *other.ofClient
}

// isBefore reports whether one place is to be taken rather than the other.
func isBefore(one, other *place) bool {
	if a, b := *one.ofService, *other.ofService; a != b {
		return a > b
	}
	if a, b := *one.ofClient, *other.ofClient; a != b {
		return a > b
	}
	return one.since.Before(other.since)
}

func (g *gate) add(p *place) {
	p.index = len(g.open)
	g.open = append(g.open, p)
	increase(g.perListener, p.port)
	p.ofService, p.ofClient = increase(g.perService, p.service), increase(g.perClient, p.client)
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
	if g.freed != nil {
		close(g.freed)
		g.freed = nil
	}
	decrease(g.perListener, p.port)
	decrease(g.perService, p.service)
	decrease(g.perClient, p.client)
}

// countOf is a count, or 0 if there is none.
func countOf[K comparable](counts map[K]*int, key K) int {
	if count := counts[key]; count != nil {
		return *count
	}
	return 0
}

// increase counts up.
func increase[K comparable](counts map[K]*int, key K) *int {
	count := counts[key]
	if count == nil {
		count = new(int)
		counts[key] = count
	}
	*count++
	return count
}

// decrease counts down, and forgets what has none.
func decrease[K comparable](counts map[K]*int, key K) {
	count := counts[key]
	*count--
	if *count == 0 {
		delete(counts, key)
	}
}
