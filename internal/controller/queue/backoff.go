// Package queue sets up the work queues of controllers: how failed work is retried,
// and how a controller is woken from outside of its watches.
package queue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Requests is the queue of a controller.
type Requests = workqueue.TypedRateLimitingInterface[reconcile.Request]

const (
	// firstRetry is when failed work is retried first.
	firstRetry = 50 * time.Millisecond
	// LastRetry caps the back-off of controllers. The library's own cap of 1,000 s is
	// far too long for a Service that is down.
	LastRetry = 30 * time.Second
)

// Backoff retries failed items after a time that doubles, up to a cap.
func Backoff[T comparable](last time.Duration) workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstRetry, last)
}

// timeout bounds one reconcile: a request that hangs must not keep a worker for ever.
const timeout = time.Minute

// Options are those of every controller. They warm the queue of a replica that does
// not lead, so that a new leader starts from full caches.
func Options(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers, EnableWarmup: new(true), RateLimiter: Backoff[reconcile.Request](LastRetry),
		ReconciliationTimeout: timeout,
	}
}
