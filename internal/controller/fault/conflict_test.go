package fault_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/critical-service/operator/internal/controller/fault"
	"github.com/critical-service/operator/internal/controller/queue"
)

// marker is a tiny controller, set up as every controller of this project is: it wants one
// word in an object, and writes it only on what it has read.
type marker struct {
	client client.Client
	runs   atomic.Int32
}

func (m *marker) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	defer m.runs.Add(1)
	return fault.Result(m.mark(ctx, request.NamespacedName))
}

func (m *marker) mark(ctx context.Context, key types.NamespacedName) error {
	var object corev1.ConfigMap
	if err := m.client.Get(ctx, key, &object); err != nil {
		return err
	}
	if object.Data["word"] == "ours" {
		return nil
	}
	change := client.MergeFromWithOptions(object.DeepCopy(), client.MergeFromWithOptimisticLock{})
	object.Data["word"] = "ours"
	return m.client.Patch(ctx, &object, change)
}

// start runs it on one object, and again for each key that the Waker is given.
func (m *marker) start(t *testing.T) *queue.Waker {
	t.Helper()
	g := NewWithT(t)
	options := queue.Options(1)
	options.Reconciler, options.SkipNameValidation = m, new(true)
	marking, err := controller.NewUnmanaged("marker", options)
	g.Expect(err).NotTo(HaveOccurred())
	waker := queue.NewWaker(0)
	g.Expect(marking.Watch(source.Source(waker))).To(Succeed())
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- marking.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		g.Eventually(ended).WithTimeout(time.Minute).Should(Receive(Not(HaveOccurred())))
	})
	return waker
}

// Another client writes between the controller's read and its write.
func TestAConflictIsRetriedOnWhatIsThereNow(t *testing.T) {
	g := NewWithT(t)
	g.SetDefaultEventuallyTimeout(time.Minute)
	shared := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shared"}, Data: map[string]string{"word": "none"}}
	key := client.ObjectKeyFromObject(shared)
	stored := fake.NewClientBuilder().WithObjects(shared).Build()
	var writes atomic.Int32
	m := &marker{client: interceptor.NewClient(stored, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if writes.Add(1) == 1 {
				other := client.RawPatch(types.MergePatchType, []byte(`{"data":{"word":"another's","number":"7"}}`))
				g.Expect(stored.Patch(ctx, shared.DeepCopy(), other)).To(Succeed())
			}
			return c.Patch(ctx, object, patch, options...)
		},
	})}
	waker := m.start(t)
	waker.Wake(key)

	g.Eventually(func() map[string]string {
		var now corev1.ConfigMap
		g.Expect(stored.Get(t.Context(), key, &now)).To(Succeed())
		return now.Data
	}).Should(Equal(map[string]string{"word": "ours", "number": "7"}), "its write is made, and the other one is kept")
	g.Expect(writes.Load()).To(BeEquivalentTo(2), "the first was refused, and the second is on what is there now")

	g.Eventually(m.runs.Load).Should(BeEquivalentTo(2))
	waker.Wake(key)
	g.Eventually(m.runs.Load).Should(BeEquivalentTo(3))
	g.Expect(writes.Load()).To(BeEquivalentTo(2), "what is as it should be is not written again")
}
