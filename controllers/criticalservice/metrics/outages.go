package metrics

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
)

// outageCounter counts what cannot be read from the caches about each protected
// Service: how many outages began while this process led, and since when it has been
// seen in its state.
type outageCounter struct {
	services *memory.OfService[memory.Outages]
}

// add counts one more outage of a Service.
func (c outageCounter) add(key types.NamespacedName) {
	c.update(key, func(outages *memory.Outages) { outages.Count++ })
}

// see takes the state of a Service, and returns how many outages it had and since when
// it has been in that state.
func (c outageCounter) see(key types.NamespacedName, state criticalv2.ServiceState, now time.Time) (outages int, since time.Time) {
	seen := c.update(key, func(outages *memory.Outages) {
		if outages.State != state {
			outages.State, outages.Since = state, now
		}
	})
	return seen.Count, seen.Since
}

func (c outageCounter) update(key types.NamespacedName, change func(*memory.Outages)) *memory.Outages {
	return c.services.Update(key, func(last *memory.Outages) *memory.Outages {
		var next memory.Outages
		if last != nil {
			next = *last
		}
		change(&next)
		return &next
	})
}

// forget drops those of some Services that were not seen: they are not protected.
func (c outageCounter) forget(keys []types.NamespacedName, seen map[types.NamespacedName]bool) {
	for _, key := range keys {
		if !seen[key] {
			c.services.Delete(key)
		}
	}
}
