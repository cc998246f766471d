package meter

import "sync"

// places bound how many requests are under way.
type places struct {
	free  chan struct{}
	under sync.WaitGroup
}

func newPlaces(most int) *places { return &places{free: make(chan struct{}, most)} }

// take takes a place, if one is free.
func (p *places) take() (leave func(), ok bool) {
	select {
	case p.free <- struct{}{}:
	default:
		return nil, false
	}
	p.under.Add(1)
	return func() {
		p.under.Done()
		<-p.free
	}, true
}

// taken is how many requests are under way.
func (p *places) taken() int { return len(p.free) }

// wait waits until none is.
func (p *places) wait() { p.under.Wait() }
