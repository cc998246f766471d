package appconfig

import (
	"maps"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	// searchesPerSecond bounds for how many AppConfigs a second namespaces are searched.
	searchesPerSecond = 2
	// secondsPerSearch bounds for how many AppConfigs a single namespace is, so that one
	// cannot take all searches from the others; after a pause it may be for some at once.
	secondsPerSearch, searchesAtOnce = 5, 4
)

// pace bounds how often namespaces are searched.
type pace struct {
	all *rate.Limiter

	mu sync.Mutex
	// each are the limiters of namespaces that were searched lately.
	each map[string]*rate.Limiter
}

func newPace() *pace {
	return &pace{all: rate.NewLimiter(searchesPerSecond, searchesPerSecond), each: map[string]*rate.Limiter{}}
}

// allow reports whether a namespace may be searched now, and counts the search.
func (p *pace) allow(namespace string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.each, func(_ string, l *rate.Limiter) bool { return l.TokensAt(now) >= searchesAtOnce })
	one, found := p.each[namespace]
	if !found {
		one = rate.NewLimiter(rate.Every(secondsPerSearch*time.Second), searchesAtOnce)
	}
	if one.TokensAt(now) < 1 || !p.all.AllowN(now, 1) {
		return false
	}
	p.each[namespace] = one
	return one.AllowN(now, 1)
}
