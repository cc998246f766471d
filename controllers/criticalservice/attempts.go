package criticalservice

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
)

// attempts remembers the API server's last answers per Service: of a fallback Pod,
// and of a standby slice where it was refused. It is a cache of something that can
// be asked again: after a restart it is empty, and the next write fills it.
type attempts struct {
	mu      sync.Mutex
	last    map[types.NamespacedName]decide.Attempt
	refused map[types.NamespacedName]decide.Refusal
}

func newAttempts() *attempts {
	return &attempts{last: map[types.NamespacedName]decide.Attempt{}, refused: map[types.NamespacedName]decide.Refusal{}}
}

// refusal is why the last write of a standby slice was refused; nil if it was not.
func (a *attempts) refusal(key types.NamespacedName) *decide.Refusal {
	a.mu.Lock()
	defer a.mu.Unlock()
	if refusal, found := a.refused[key]; found {
		return &refusal
	}
	return nil
}

func (a *attempts) refuse(key types.NamespacedName, refusal decide.Refusal) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.refused[key] = refusal
}

func (a *attempts) accept(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.refused, key)
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
