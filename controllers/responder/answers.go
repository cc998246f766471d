package responder

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// answers remembers what the API server stored for each object that was applied. An
// admission webhook may change an object; applying the same again would not help.
// After a restart it is empty, and one more write fills it.
type answers struct {
	mu   sync.Mutex
	last map[types.UID]string
}

func newAnswers() *answers { return &answers{last: map[types.UID]string{}} }

func (a *answers) of(uid types.UID) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	digest, found := a.last[uid]
	return digest, found
}

func (a *answers) set(uid types.UID, digest string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.last[uid] = digest
}

func (a *answers) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.last, uid)
}
