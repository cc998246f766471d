// Package places bounds how many requests of a costly sort are under way at once.
package places

import (
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
)

// RetryAfter is what a client is asked to wait that finds no place for a snapshot, in seconds.
const RetryAfter = 10

// Limits say how many are under way at once. A namespace has not all of the places, so that a team
// with many instances does not keep others from theirs.
type Limits struct {
	// What is limited, in the plural.
	What                                 string
	PerInstance, PerNamespace, PerServer int
	// RetryAfter is what a client is asked to wait that finds no place, in seconds.
	RetryAfter int
}

// Snapshots bounds those that are under way. In either direction they hold a connection each, and pages of the member that it could
// otherwise reuse.
var Snapshots = Limits{What: "snapshots", PerInstance: 2, PerNamespace: 4, PerServer: 8, RetryAfter: RetryAfter}

// Places are those that requests under way hold.
type Places struct {
	limits    Limits
	mu        sync.Mutex
	taken     int
	namespace map[string]int
	instance  map[types.NamespacedName]int
}

// New makes Places that are all free.
func New(limits Limits) *Places {
	return &Places{limits: limits, namespace: map[string]int{}, instance: map[types.NamespacedName]int{}}
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
		{"ETCDInstance " + name.String(), p.instance[name], p.limits.PerInstance},
		{"namespace " + name.Namespace, p.namespace[name.Namespace], p.limits.PerNamespace},
		{"server", p.taken, p.limits.PerServer},
	} {
		if limit.taken >= limit.most {
			return nil, apierrors.NewTooManyRequests(fmt.Sprintf("%d %s of this %s are under way, and there are no more at once; retry in %d s",
				limit.taken, p.limits.What, limit.of, p.limits.RetryAfter), p.limits.RetryAfter)
		}
	}
	p.add(name, 1)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.add(name, -1)
	}, nil
}

// add counts a request, and forgets what has none.
func (p *Places) add(name types.NamespacedName, change int) {
	p.taken += change
	if p.namespace[name.Namespace] += change; p.namespace[name.Namespace] == 0 {
		delete(p.namespace, name.Namespace)
	}
	if p.instance[name] += change; p.instance[name] == 0 {
		delete(p.instance, name)
	}
}
