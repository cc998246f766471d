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
// publish. The range never shrinks, because that would take a rollout
// and bring nothing but a few kilobytes.
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
	if len(taken) > 0 {
		for p.ports.First > taken[0] || p.ports.Last < taken[len(taken)-1] {
			p.grow(p.ports.First > taken[0])
		}
	}
	if p.next < p.ports.First || p.next > p.ports.Last+1 {
		p.next = p.ports.First
		if len(taken) > 0 {
			p.next = taken[len(taken)-1] + 1
		}
	}
	return p
}

// begin is the range that the Deployment has, unless a user moved it away from all
// that is in use. Without one it is the block of what is in use, or a block that no
// other namespace uses; if all are used, namespaces share them.
func (p *pool) begin(s *Snapshot, taken []int32) {
	if s.Deployment != nil {
		now, err := listener.ParseRange(s.Deployment.Spec.Template.Annotations[criticalv2.AnnotationListeners])
		if err == nil && all.First <= now.First && now.Last <= all.Last && (len(taken) == 0 || slices.ContainsFunc(taken, now.Contains)) {
			p.ports = now
			return
		}
	}
	p.chosen = true
	if len(taken) > 0 {
		p.ports = listener.BlockAt(min((taken[0]-listener.First)/listener.Block, listener.Blocks-1))
		return
	}
	home := listener.Home(s.Namespace)
	p.ports = listener.BlockAt(home)
	for i := range listener.Blocks {
		if block := listener.BlockAt(home + i); p.isFree(block) {
			p.ports = block
			return
		}
	}
}

func (p *pool) isFree(ports listener.Range) bool {
	return !slices.ContainsFunc(p.neighbours, ports.Overlaps)
}

// growth is how many times as large a range is once it has grown. Growing takes a
// rollout, and a namespace that comes to be protected as a whole needs few of them so.
const growth = 4

// grow makes the range larger towards one side, as far as there are ports.
func (p *pool) grow(down bool) {
	added := p.side(down)
	if down {
		p.ports.First = added.First
	} else {
		p.ports.Last = added.Last
	}
	p.chosen = true
}

// side is what the range would get if it grew towards a side.
func (p *pool) side(down bool) listener.Range {
	added := p.ports.Size() * (growth - 1)
	if down {
		return listener.Range{First: max(p.ports.First-added, all.First), Last: p.ports.First - 1}
	}
	return listener.Range{First: p.ports.Last + 1, Last: min(p.ports.Last+added, all.Last)}
}

// widen makes the range grow towards the side on which no other namespace is, or else
// towards that which has more ports. It reports what was added; that is nothing if
// the range has all ports.
func (p *pool) widen() (added listener.Range) {
	up, down := p.side(false), p.side(true)
	isDown := down.Size() > up.Size()
	if up.Size() > 0 && down.Size() > 0 && p.isFree(up) != p.isFree(down) {
		isDown = p.isFree(down)
	}
	p.grow(isDown)
	if isDown {
		return down
	}
	return up
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
