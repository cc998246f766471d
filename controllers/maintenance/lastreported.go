package maintenance

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// told remembers what was last said of each maintenance, so that what is looked at
// every minute is said once. After a restart it is empty, and all is said once more.
type told struct {
	mu   sync.Mutex
	last map[types.NamespacedName]string
}

func newTold() *told { return &told{last: map[types.NamespacedName]string{}} }

// isNews tells whether a text differs from the last one, and remembers it. An empty
// text is never news.
func (t *told) isNews(key types.NamespacedName, text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == "" {
		delete(t.last, key)
		return false
	}
	isNews := t.last[key] != text
	t.last[key] = text
	return isNews
}

func (t *told) forget(key types.NamespacedName) { t.isNews(key, "") }
