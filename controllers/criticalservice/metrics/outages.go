package metrics

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// outageCounter keeps what cannot be read from the caches about each protected Service: how
// many outages began while this process led, and since when it has been seen in its
// state. It forgets the Services that are not protected any more.
type outageCounter struct {
	mu       sync.Mutex
	services map[types.NamespacedName]*record
}

type record struct {
	outages int
	state   criticalv2.ServiceState
	since   time.Time
}

func newOutageCounter() *outageCounter {
	return &outageCounter{services: map[types.NamespacedName]*record{}}
}

// add counts one more outage of a Service.
func (t *outageCounter) add(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of(key).outages++
}

// see notes the state of a Service, and tells how many outages it had and since
// when it has been in that state.
func (t *outageCounter) see(key types.NamespacedName, state criticalv2.ServiceState, now time.Time) (outages int, since time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.of(key)
	if known.state != state {
		known.state, known.since = state, now
	}
	return known.outages, known.since
}

func (t *outageCounter) of(key types.NamespacedName) *record {
	known, found := t.services[key]
	if !found {
		known = &record{}
		t.services[key] = known
	}
	return known
}

// known are the Services that are kept.
func (t *outageCounter) known() []types.NamespacedName {
	t.mu.Lock()
	defer t.mu.Unlock()
	keys := make([]types.NamespacedName, 0, len(t.services))
	for key := range t.services {
		keys = append(keys, key)
	}
	return keys
}

// forget drops those of some Services that were not seen.
func (t *outageCounter) forget(keys []types.NamespacedName, seen map[types.NamespacedName]bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if !seen[key] {
			delete(t.services, key)
		}
	}
}
