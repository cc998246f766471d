// Package places bounds how many snapshots are under way at once, in either direction.
package places

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// How many snapshots are under way at once. Each holds a connection, and pages of the member that
// it could otherwise reuse. A namespace has not all of the places, so that a team with many
// instances does not keep others from theirs.
const (
	perInstance  = 2
	perNamespace = 4
	perServer    = 8

	// RetryAfter is what a client is asked to wait that finds no place, in seconds.
	RetryAfter = 10
)

// Places are those that snapshots under way hold.
type Places struct {
	mu        sync.Mutex
	taken     int
	namespace map[string]int
	instance  map[types.NamespacedName]int
}

// New makes Places that are all free.
func New() *Places {
	return &Places{namespace: map[string]int{}, instance: map[types.NamespacedName]int{}}
}

// Take takes a place until the function that it returns is called, once. Without a free place the
// error is that there are too many requests.
func (p *Places) Take(name types.NamespacedName) (func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, limit := range []struct {
		of          string
		taken, most int
	}{
		{"ETCDInstance " + name.String(), p.instance[name], perInstance},
		{"namespace " + name.Namespace, p.namespace[name.Namespace], perNamespace},
		{"server", p.taken, perServer},
	} {
		if limit.taken >= limit.most {
			return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d snapshots of this %s are under way, and there are no more at once; retry in %d s",
				limit.taken, limit.of, RetryAfter), RetryAfter)
		}
	}
	p.add(name, 1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.add(name, -1)
	}, nil
}

// add counts a snapshot, and forgets what has none.
func (p *Places) add(name types.NamespacedName, change int) {
	p.taken += change
	if p.namespace[name.Namespace] += change; p.namespace[name.Namespace] == 0 {
		delete(p.namespace, name.Namespace)
	}
	if p.instance[name] += change; p.instance[name] == 0 {
		delete(p.instance, name)
	}
}
