package queue

import (
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// fair is the order in which objects are worked on: one of each namespace in turn, so that no team
// waits for the 10,000 objects of another. It is used under the lock of its queue.
type fair struct {
	turns   []string
	waiting map[string][]reconcile.Request
	size    int
}

// NewFair makes the queue of a controller that works on one object of each namespace in turn.
func NewFair(name string, backoff workqueue.TypedRateLimiter[reconcile.Request]) Requests {
	plain := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{
		Name: name, Queue: &fair{waiting: map[string][]reconcile.Request{}},
	})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[reconcile.Request]{Name: name, Queue: plain})
	return workqueue.NewTypedRateLimitingQueueWithConfig(backoff, workqueue.TypedRateLimitingQueueConfig[reconcile.Request]{Name: name, DelayingQueue: delaying})
}

// Touch implements workqueue.Queue: what waits keeps its place.
func (f *fair) Touch(reconcile.Request) {}

// Push implements workqueue.Queue.
func (f *fair) Push(request reconcile.Request) {
	of := f.waiting[request.Namespace]
	if len(of) == 0 {
		f.turns = append(f.turns, request.Namespace)
	}
	f.waiting[request.Namespace] = append(of, request)
	f.size++
}

// Len implements workqueue.Queue.
func (f *fair) Len() int { return f.size }

// Pop implements workqueue.Queue.
func (f *fair) Pop() reconcile.Request {
	namespace := f.turns[0]
	f.turns = f.turns[1:]
	of := f.waiting[namespace]
	f.size--
	if len(of) == 1 {
		delete(f.waiting, namespace)
		return of[0]
	}
	f.waiting[namespace] = of[1:]
	f.turns = append(f.turns, namespace)
	return of[0]
}
