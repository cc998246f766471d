package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Waker wakes the keys of a controller from outside of its watches. It never waits,
// however many are woken at once. It is a source.Source of that controller.
type Waker struct {
	after time.Duration

	mu sync.Mutex
	// queue is that of the controller; nil before it runs.
	queue Requests
	// early are the keys that were woken before.
	early sets.Set[types.NamespacedName]
}

// NewWaker makes a Waker. Each key is worked on some time after it was woken first,
// so that several changes make one reconcile.
func NewWaker(after time.Duration) *Waker {
	return &Waker{after: after, early: sets.New[types.NamespacedName]()}
}

// Wake wakes a key.
func (w *Waker) Wake(key types.NamespacedName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		w.early.Insert(key)
		return
	}
	w.queue.AddAfter(reconcile.Request{NamespacedName: key}, w.after)
}

// Start implements source.Source: it takes the queue of the controller.
func (w *Waker) Start(_ context.Context, queue Requests) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for key := range w.early {
		queue.AddAfter(reconcile.Request{NamespacedName: key}, w.after)
	}
	w.early = nil
	return nil
}
