package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Waker wakes the keys of a controller from outside of its watches. It never waits,
// however many are woken at once. It is a source.Source of that controller.
type Waker struct {
	after time.Duration

	mu sync.Mutex
	// queue is that of the controller; nil before it runs.
	queue Requests
	// early are the keys that were woken before, with their priorities.
	early map[types.NamespacedName]int
}

// NewWaker makes a Waker. Each key is worked on some time after it was woken first,
// so that several changes make one reconcile.
func NewWaker(after time.Duration) *Waker {
	return &Waker{after: after, early: map[types.NamespacedName]int{}}
}

// Wake wakes a key, with the priority of most work.
func (w *Waker) Wake(key types.NamespacedName) { w.WakeAt(key, 0) }

// WakeAt wakes a key that is worked on before those of a lower priority.
func (w *Waker) WakeAt(key types.NamespacedName, priority int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queue == nil {
		w.early[key] = max(w.early[key], priority)
		return
	}
	w.add(key, priority)
}

// Start implements source.Source: it takes the queue of the controller.
func (w *Waker) Start(_ context.Context, queue Requests) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = queue
	for key, priority := range w.early {
		w.add(key, priority)
	}
	w.early = nil
	return nil
}

func (w *Waker) add(key types.NamespacedName, priority int) {
	Add(w.queue, reconcile.Request{NamespacedName: key}, priority, w.after)
}

// Add adds a request that is worked on after some time, before those of a lower priority.
func Add(q Requests, request reconcile.Request, priority int, after time.Duration) {
	if prioritised, ok := q.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		prioritised.AddWithOpts(priorityqueue.AddOpts{After: after, Priority: &priority}, request)
		return
	}
	q.AddAfter(request, after)
}
