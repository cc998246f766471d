package maintenance

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// lastReported remembers what was last reported of each maintenance, so that what is
// checked every minute is reported once. After a restart it is empty, and everything is
// reported once more.
type lastReported struct {
	mu    sync.Mutex
	texts map[types.NamespacedName]string
}

func newLastReported() *lastReported {
	return &lastReported{texts: map[types.NamespacedName]string{}}
}

// isNew reports whether a text differs from the last one, and remembers it. An empty
// text is never new.
func (r *lastReported) isNew(key types.NamespacedName, text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == "" {
		delete(r.texts, key)
		return false
	}
	isNew := r.texts[key] != text
	r.texts[key] = text
	return isNew
}

func (r *lastReported) forget(key types.NamespacedName) { r.isNew(key, "") }
