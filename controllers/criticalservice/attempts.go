package criticalservice

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// attempts remembers the API server's last answer per Service. It is a cache of
// something that can be asked again: after a restart it is empty, and the next
// rehearsal or create fills it.
type attempts struct {
	mu   sync.Mutex
	last map[types.NamespacedName]decide.Attempt
}

func newAttempts() *attempts {
	return &attempts{last: map[types.NamespacedName]decide.Attempt{}}
}

func (a *attempts) get(key types.NamespacedName) *decide.Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	if attempt, found := a.last[key]; found {
		return &attempt
	}
	return nil
}

func (a *attempts) set(key types.NamespacedName, attempt decide.Attempt) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[key] = attempt
}

func (a *attempts) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, key)
}
