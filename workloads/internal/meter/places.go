package meter

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
)

// places bound how many requests are under way.
type places struct {
	free  chan struct{}
	total atomic.Int64
	under sync.WaitGroup
}

func newPlaces(most int) *places { return &places{free: make(chan struct{}, most)} }

// take takes a place, and one of the connection where that carries many requests.
func (p *places) take(r *http.Request) (leave func(), ok bool) {
	own, _ := r.Context().Value(placesKey{}).(chan struct{})
	if r.ProtoMajor < 2 {
		own = nil
	}
	if own != nil && !enter(own) {
		return nil, false
	}
	if !enter(p.free) {
		if own != nil {
			<-own
		}
		return nil, false
	}
	p.total.Add(1)
	p.under.Add(1)
	return func() {
		p.under.Done()
		<-p.free
		if own != nil {
			<-own
		}
	}, true
}

func enter(places chan struct{}) bool {
	select {
	case places <- struct{}{}:
		return true
	default:
		return false
	}
}

// taken is how many requests are under way.
func (p *places) taken() int { return len(p.free) }

// wait waits until none is.
func (p *places) wait() { p.under.Wait() }

type placesKey struct{}

// withPlaces gives a connection places of its own.
func withPlaces(ctx context.Context, most int) context.Context {
	return context.WithValue(ctx, placesKey{}, make(chan struct{}, most))
}
