package decide

import (
	"maps"
	"slices"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

// all are the ports that listeners may have.
var all = listener.Range{First: listener.First, Last: listener.Last}

// pool is the numbers that are free.
type pool struct {
	taken map[int32]bool
	ports listener.Range
	next  int32
	// neighbours are the ranges of other namespaces.
	neighbours []listener.Range
	// chosen says that the range is another than the Deployment's.
	chosen bool
}

// pool leaves out what is taken: by what keeps its number, and by what the slices
// publish. The range seldom shrinks, because that takes a rollout and mostly brings
// nothing but a few kilobytes.
func (s *Snapshot) pool(numbers map[key]int32, published []claim, recorded *listener.Table) *pool {
	p := &pool{taken: map[int32]bool{}, next: recorded.Next}
	for i := range s.Neighbours {
		p.neighbours = append(p.neighbours, s.Neighbours[i].Ports)
	}
	for _, c := range published {
		p.taken[c.number] = true
	}
	for _, number := range numbers {
		p.taken[number] = true
	}
	taken := slices.Sorted(maps.Keys(p.taken))
	p.begin(s, taken)
	if p.next < p.ports.First || p.next > p.ports.Last+1 {
		p.next = p.ports.First
		if len(taken) > 0 {
			p.next = taken[len(taken)-1] + 1
		}
	}
	return p
}

// begin is the range that the Deployment has, with all that is in use. Without one, and
// where a user moved it away from all that is in use, it is chosen. It is also where it is
// so large that other namespaces would have none, and what is in use needs much less.
func (p *pool) begin(s *Snapshot, taken []int32) {
	now, found := s.recordedRange(taken)
	if found && int(now.Size()) <= largest(len(taken)) {
		p.ports = now
		p.span(taken)
		return
	}
	p.ports, p.chosen = p.choose(s, taken), true
	p.span(taken)
	if found && (p.ports.Size() > now.Size()/growth || !now.Contains(p.ports.First) || !now.Contains(p.ports.Last)) {
		p.ports, p.chosen = now, false
		p.span(taken)
	}
}

// recordedRange is the range of the Deployment, if it has one that listeners may have, and that
// has to do with what is in use.
func (s *Snapshot) recordedRange(taken []int32) (ports listener.Range, found bool) {
	if s.Deployment == nil {
		return ports, false
	}
	ports, err := listener.ParseRange(s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners])
	return ports, err == nil && all.First <= ports.First && ports.Last <= all.Last &&
		(len(taken) == 0 || slices.ContainsFunc(taken, ports.Contains))
}

// choose is the block of what is in use, or else one that no other namespace uses; if all
// are used, namespaces share them.
func (p *pool) choose(s *Snapshot, taken []int32) listener.Range {
	if len(taken) > 0 {
		return listener.BlockAt(min((taken[0]-listener.First)/listener.Block, listener.Blocks-1))
	}
	home := listener.Home(s.Namespace)
	for i := range listener.Blocks {
		if block := listener.BlockAt(home + i); p.isFree(block) {
			return block
		}
	}
	return listener.BlockAt(home)
}

// span makes the range grow until it has all that is in use.
func (p *pool) span(taken []int32) {
	for len(taken) > 0 && (p.ports.First > taken[0] || p.ports.Last < taken[len(taken)-1]) {
		p.grow(p.side(p.ports.First > taken[0], p.ports.Size()*(growth-1)))
	}
}

// largest is from which size on a range is given back, where so many numbers are in use.
func largest(taken int) int {
	return max(taken, int(listener.Block)) * growth * growth
}

func (p *pool) isFree(ports listener.Range) bool {
	return !slices.ContainsFunc(p.neighbours, ports.Overlaps)
}

// growth is how many times as large a range is once it has grown. Growing takes a
// rollout, and a namespace that comes to be protected as a whole needs few of them so.
const growth = 4

// side is what the range gets if it grows towards a side by so many ports, as far as
// there are ports.
func (p *pool) side(down bool, ports int32) listener.Range {
	if down {
		return listener.Range{First: max(p.ports.First-ports, all.First), Last: p.ports.First - 1}
	}
	return listener.Range{First: p.ports.Last + 1, Last: min(p.ports.Last+ports, all.Last)}
}

// grow makes the range larger by what is beside it.
func (p *pool) grow(added listener.Range) {
	p.ports.First, p.ports.Last = min(p.ports.First, added.First), max(p.ports.Last, added.Last)
	p.chosen = true
}

// widen makes the range grow as far as no other namespace is, up to fourfold; where others
// are on both sides, into theirs. It reports what was added; that is nothing if the range
// has all ports.
func (p *pool) widen() (added listener.Range) {
	size := p.ports.Size()
	for _, ports := range []int32{size * (growth - 1), size, listener.Block} {
		for _, side := range p.sides(ports) {
			if side.Size() >= listener.Block && side.Size() > added.Size() && p.isFree(side) {
				added = side
			}
		}
	}
	if added.Size() < listener.Block {
		added = p.sides(size * (growth - 1))[0]
	}
	p.grow(added)
	return added
}

// sides are both sides by which the range may grow, the larger one first.
func (p *pool) sides(ports int32) [2]listener.Range {
	up, down := p.side(false, ports), p.side(true, ports)
	if down.Size() > up.Size() {
		return [2]listener.Range{down, up}
	}
	return [2]listener.Range{up, down}
}

// first is the next free number, going round in the range; only if it is full, it
// grows.
func (p *pool) first() (number int32, found bool) {
	for p.isFull() {
		added := p.widen()
		if added.Size() == 0 {
			return 0, false
		}
		p.next = added.First
	}
	number = p.next
	for {
		if !p.ports.Contains(number) {
			number = p.ports.First
		}
		if !p.taken[number] {
			return number, true
		}
		number++
	}
}

func (p *pool) isFull() bool { return int64(len(p.taken)) >= int64(p.ports.Size()) }

// take makes a number one that is not free.
func (p *pool) take(number int32) {
	p.taken[number] = true
	p.next = number + 1
}
