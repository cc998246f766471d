package responder

import (
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

// visitor is a connection of a client to a Service, on its only listener.
type visitor struct {
	place
	displaced bool
}

func visit(service int32, client byte, at progress, age time.Duration) *visitor {
	v := &visitor{place: place{
		port: service, service: fmt.Sprint("service-", service), client: netip.AddrFrom4([4]byte{10, 0, 0, client}),
		since: time.Now().Add(-age),
	}}
	v.displace = func() { v.displaced = true }
	v.is(at)
	return v
}

// crowd enters as many connections, of which the first is the oldest.
func crowd(g *WithT, into *gate, n int, service int32, client byte, at progress) []*visitor {
	entered := make([]*visitor, n)
	for i := range entered {
		entered[i] = visit(service, client, at, time.Duration(n-i)*time.Millisecond)
		g.Expect(into.enter(&entered[i].place)).To(BeTrue())
	}
	return entered
}

func displaced(visitors []*visitor) (indexes []int) {
	for i, v := range visitors {
		if v.displaced {
			indexes = append(indexes, i)
		}
	}
	return indexes
}

func TestPlacesAreShared(t *testing.T) {
	const silence = time.Second
	for sentence, c := range map[string]struct {
		newcomer *visitor
		// at is how far the 10 connections of client 1 to Service 1 are, which take all places.
		at        progress
		displaced []int
	}{
		"another Service takes the oldest that has sent nothing":     {visit(2, 1, opened, 0), opened, []int{0}},
		"another Service takes the oldest that waits for its client": {visit(2, 1, opened, 0), waiting, []int{0}},
		"another client takes the oldest":                            {visit(1, 2, opened, 0), opened, []int{0}},
		"the same client of the same Service takes none":             {visit(1, 1, opened, 0), opened, nil},
		"what is being answered is left alone":                       {visit(2, 2, opened, 0), answering, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			gate := newGate(10, 10, silentShare*silence)
			crowd := crowd(g, gate, 10, 1, 1, c.at)
			g.Expect(gate.enter(&c.newcomer.place)).To(Equal(c.displaced != nil))
			g.Expect(displaced(crowd)).To(Equal(c.displaced))
			g.Expect(gate.count()).To(Equal(10))
			for _, v := range append(crowd, c.newcomer) {
				gate.leave(&v.place)
				gate.leave(&v.place)
			}
			g.Expect(gate.count()).To(BeZero())
			g.Expect(gate.perListener).To(BeEmpty())
			g.Expect(gate.perService).To(BeEmpty())
			g.Expect(gate.perClient).To(BeEmpty())
		})
	}
}

func TestEqualSharesDoNotDisplaceEachOther(t *testing.T) {
	g := NewWithT(t)
	gate := newGate(10, 10, time.Hour)
	one, two := crowd(g, gate, 5, 1, 1, opened), crowd(g, gate, 5, 2, 2, opened)
	for _, newcomer := range []*visitor{visit(1, 1, opened, 0), visit(2, 2, opened, 0)} {
		g.Expect(gate.enter(&newcomer.place)).To(BeFalse())
	}
	g.Expect(displaced(append(one, two...))).To(BeEmpty())
}

func TestTheOneThatHasMostIsDisplaced(t *testing.T) {
	g := NewWithT(t)
	gate := newGate(10, 10, time.Hour)
	few := crowd(g, gate, 3, 1, 1, opened)
	many, most := crowd(g, gate, 3, 2, 2, opened), crowd(g, gate, 4, 2, 3, opened)
	g.Expect(gate.enter(&visit(4, 4, opened, 0).place)).To(BeTrue())
	g.Expect(displaced(few)).To(BeEmpty())
	g.Expect(displaced(many)).To(BeEmpty())
	g.Expect(displaced(most)).To(Equal([]int{0}))
}

func TestSilenceIsShorterWithoutAFreePlace(t *testing.T) {
	const silence = time.Minute
	for sentence, c := range map[string]struct {
		oldest *visitor
		enters bool
	}{
		"a client that was silent for long goes": {visit(1, 1, opened, silence+time.Second), true},
		"one that has begun stays":               {visit(1, 1, waiting, silence+time.Second), false},
		"one that has just come stays":           {visit(1, 1, opened, silence/2), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			gate := newGate(2, 2, silentShare*silence)
			g.Expect(gate.enter(&c.oldest.place)).To(BeTrue())
			g.Expect(gate.enter(&visit(1, 1, opened, 0).place)).To(BeTrue())
			g.Expect(gate.enter(&visit(1, 1, opened, 0).place)).To(Equal(c.enters))
			g.Expect(c.oldest.displaced).To(Equal(c.enters))
		})
	}
}

func TestAnAnswerThatIsNotTakenKeepsNoPlace(t *testing.T) {
	g := NewWithT(t)
	gate := newGate(3, 3, time.Hour)
	stuck := visit(1, 1, answering, answerTimeout+time.Second)
	g.Expect(gate.enter(&stuck.place)).To(BeTrue())
	crowd(g, gate, 2, 1, 1, answering)
	g.Expect(gate.enter(&visit(2, 1, opened, 0).place)).To(BeTrue())
	g.Expect(stuck.displaced).To(BeTrue())
}

func TestAFullListenerIsSharedByItsClients(t *testing.T) {
	g := NewWithT(t)
	gate := newGate(100, 5, time.Hour)
	crowd := crowd(g, gate, 5, 1, 1, opened)
	g.Expect(gate.enter(&visit(1, 1, opened, 0).place)).To(BeFalse())
	g.Expect(displaced(crowd)).To(BeEmpty())
	g.Expect(gate.enter(&visit(1, 2, opened, 0).place)).To(BeTrue())
	g.Expect(displaced(crowd)).To(Equal([]int{0}))
}

func TestPlacesForHTTP2AreShared(t *testing.T) {
	g := NewWithT(t)
	gate := newGate(1000, 1000, time.Hour)
	others := crowd(g, gate, 10, 3, 3, opened)
	crowd := crowd(g, gate, mostHTTP2+1, 1, 1, waiting)
	for _, v := range crowd[:mostHTTP2] {
		g.Expect(gate.enterHTTP2(&v.place)).To(BeTrue())
	}
	g.Expect(gate.enterHTTP2(&crowd[mostHTTP2].place)).To(BeFalse())
	newcomer := visit(2, 2, waiting, 0)
	g.Expect(gate.enter(&newcomer.place)).To(BeTrue())
	g.Expect(gate.enterHTTP2(&newcomer.place)).To(BeTrue())
	g.Expect(displaced(crowd)).To(Equal([]int{0}))
	g.Expect(displaced(others)).To(BeEmpty())
	g.Expect(gate.enterHTTP2(&crowd[0].place)).To(BeFalse(), "it has lost its place")
	g.Expect(gate.http2).To(Equal(mostHTTP2))
}

// The time of these tests is the one that testing/synctest makes.
func TestAClientOverTheLimitWaitsForOneThatLeaves(t *testing.T) {
	for sentence, c := range map[string]struct {
		// leaves is when the only other client leaves.
		leaves  time.Duration
		waits   time.Duration
		entered bool
	}{
		"it gets the place that becomes free":          {roomTimeout / 2, roomTimeout / 2, true},
		"it is rejected if no one leaves in that time": {roomTimeout * 2, roomTimeout, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				gate := newGate(1, 1, time.Minute)
				first := crowd(g, gate, 1, 1, 1, answering)[0]
				time.AfterFunc(c.leaves, func() { gate.leave(&first.place) })
				began := time.Now()
				g.Expect(gate.enter(&visit(1, 1, opened, 0).place)).To(Equal(c.entered))
				g.Expect(time.Since(began)).To(Equal(c.waits))
			})
		})
	}
}

func TestNoOneWaitsWhereClientsStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate(1, 1, time.Minute)
		crowd(g, gate, 1, 1, 1, answering)
		waited := func() time.Duration {
			began := time.Now()
			g.Expect(gate.enter(&visit(1, 1, opened, 0).place)).To(BeFalse())
			return time.Since(began)
		}
		g.Expect(waited()).To(Equal(roomTimeout))
		g.Expect(waited()).To(BeZero(), "the next one is rejected at once")
		<-time.After(hopelessFor + 1)
		g.Expect(waited()).To(Equal(roomTimeout), "later it is tried again")
	})
}

// Silent clients leave so slowly, two by two, that the next get a place while they wait: those behind them would be
// reached late.
func TestAQueueThatMovesTooSlowlyIsTurnedAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		gate := newGate(2, 2, time.Minute)
		come := func() bool {
			client := visit(1, 1, opened, 0)
			entered := gate.enter(&client.place)
			if entered {
				time.AfterFunc(roomTimeout*3/4, func() { gate.leave(&client.place) })
			}
			return entered
		}
		began, entered := time.Now(), 0
		for come() {
			entered++
			g.Expect(time.Since(began)).To(BeNumerically("<=", queueFor+roomTimeout))
		}
		g.Expect(entered).To(BeNumerically(">", 1), "at first they wait")
		turnedAway := time.Now()
		for range 250 {
			come()
		}
		g.Expect(time.Since(turnedAway)).To(BeZero(), "no one waits any more, so that those behind them are reached")
	})
}
