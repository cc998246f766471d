// Package queue sets up the work queues of controllers: how failed work is retried,
// and how a controller is woken from outside of its watches.
package queue

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Requests is the queue of a controller.
type Requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Back-off of failed work. The library's own cap of 1,000 s is far too long for a
// Service that is down.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Backoff retries failed items after a time that doubles.
func Backoff[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstRetry, lastRetry)
}

// Options are those of every controller. They warm the queue of a replica that does
// not lead, so that a new leader starts from full caches.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers, EnableWarmup: new(true), RateLimiter: Backoff[reconcile.Request](),
	}
}

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
