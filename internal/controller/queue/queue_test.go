package queue_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/critical-service/operator/internal/controller/queue"
)

// A whole cluster may fail at one moment, and before the controller runs.
func TestNoKeyThatIsWokenIsLost(t *testing.T) {
	g := NewWithT(t)
	const many = 5000
	waker := queue.NewWaker(time.Millisecond)
	wake := func(from, to int) {
		for i := from; i < to; i++ {
			waker.Wake(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)})
		}
	}
	wake(0, many)
	requests := workqueue.NewTypedRateLimitingQueue(queue.Backoff[reconcile.Request](queue.LastRetry))
	defer requests.ShutDown()
	g.Expect(waker.Start(t.Context(), requests)).To(Succeed())
	wake(0, 2*many)
	g.Eventually(requests.Len).WithTimeout(time.Minute).Should(Equal(2 * many))
}

func TestRetriesBackOffAndStayFrequent(t *testing.T) {
	g := NewWithT(t)
	backoff := queue.Backoff[string](queue.LastRetry)
	g.Expect(backoff.When("web")).To(Equal(50 * time.Millisecond))
	g.Expect(backoff.When("web")).To(Equal(100 * time.Millisecond))
	for range 20 {
		backoff.When("web")
	}
	g.Expect(backoff.When("web")).To(Equal(30 * time.Second))
	g.Expect(backoff.When("cart")).To(Equal(50 * time.Millisecond))
}

// What is urgent comes first, also where it was woken before the controller runs.
func TestKeysAreWokenByPriority(t *testing.T) {
	g := NewWithT(t)
	waker := queue.NewWaker(0)
	key := func(name string) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: name} }
	waker.WakeAt(key("down"), 10)
	waker.Wake(key("down"))
	waker.Wake(key("up"))
	requests := priorityqueue.New[reconcile.Request]("test")
	defer requests.ShutDown()
	g.Expect(waker.Start(t.Context(), requests)).To(Succeed())
	waker.WakeAt(key("worse"), 20)
	for _, name := range []string{"worse", "down", "up"} {
		request, _, _ := requests.GetWithPriority()
		g.Expect(request.Name).To(Equal(name))
	}
}
