package ingress

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/critical-service/operator/internal/controller/queue"
)

// places are how many Ingresses of one namespace are written at the same time: an admission webhook
// of that namespace which hangs holds as many workers, and no more.
type places struct {
	most int
	free *queue.Waker

	mu      sync.Mutex
	taken   map[string]int
	waiting map[string][]types.NamespacedName
	waits   map[types.NamespacedName]bool // Those of waiting, which has each once.
}

func newPlaces(most int) *places {
	return &places{
		most: most, free: queue.NewWaker(0), taken: map[string]int{},
		waiting: map[string][]types.NamespacedName{}, waits: map[types.NamespacedName]bool{},
	}
}

// take takes a place, or has the key woken once there is one.
func (p *places) take(key types.NamespacedName) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key.Namespace] < p.most {
		p.taken[key.Namespace]++
		return true
	}
	if !p.waits[key] {
		p.waits[key] = true
		p.waiting[key.Namespace] = append(p.waiting[key.Namespace], key)
	}
	return false
}

// leave gives a place back.
func (p *places) leave(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken[namespace]--
	if p.taken[namespace] == 0 {
		delete(p.taken, namespace)
	}
}

// next wakes one that waits, where a place is free. It ends every reconcile: one that was woken and
// needs no place any more passes its turn on.
func (p *places) next(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	waiting := p.waiting[namespace]
	if len(waiting) == 0 || p.taken[namespace] >= p.most {
		return
	}
	p.free.Wake(waiting[0])
	delete(p.waits, waiting[0])
	if p.waiting[namespace] = waiting[1:]; len(waiting) == 1 {
		delete(p.waiting, namespace)
	}
}
