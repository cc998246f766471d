package content

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/contract/page"
)

var (
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
	ours = types.NamespacedName{Namespace: "shop", Name: "our-page"}
)

// apiServer counts how often ConfigMaps are read.
type apiServer struct {
	client.Reader
	reads int
}

func (a *apiServer) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isConfigMaps := list.(*corev1.ConfigMapList); isConfigMaps {
		a.reads++
	}
	return a.Reader.List(ctx, list, options...)
}

// world is a Service whose page names a ConfigMap.
type world struct {
	Gomega
	*Reconciler
	t      *testing.T
	client client.Client
	live   *apiServer
	clock  *testclock.FakePassiveClock
	woken  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, Labels: map[string]string{"tier": "front"}}}
	policy := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "storefront"}, Spec: criticalv2.CriticalServiceSpec{
		ServiceSelector: metav1.LabelSelector{MatchLabels: service.Labels},
		Fallback:        criticalv2.Fallback{Page: &criticalv2.PageFallback{ConfigMapName: ours.Name}},
	}}
	observer, all := observetest.Of(t, service, policy)
	w := &world{
		Gomega: NewWithT(t), t: t, client: all, live: &apiServer{Reader: all}, clock: testclock.NewFakePassiveClock(time.Now()),
		woken: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(w.woken.ShutDown)
	observer.Live, observer.Clock = w.live, w.clock
	w.Reconciler = &Reconciler{Observer: observer, Judgements: NewJudgements(observer.Memory), Wake: wake.NewStatus(observer.Memory)}
	w.Expect(w.Judgements.Changed.Start(t.Context(), w.woken)).To(Succeed())
	return w
}

// publish makes the ConfigMap, or another version of it.
func (w *world) publish(data map[string]string) {
	w.t.Helper()
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: ours.Namespace, Name: ours.Name, UID: "ours", Labels: map[string]string{criticalv2.LabelResponder: criticalv2.ResponderContent},
	}, Data: data}
	err := w.client.Create(w.t.Context(), config)
	if err != nil {
		err = w.client.Update(w.t.Context(), config)
	}
	w.Expect(err).NotTo(HaveOccurred())
}

// look is what the Service's controller and this one do after an event.
func (w *world) look() ctrl.Result {
	w.t.Helper()
	snap, err := w.Observe(w.t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Judgements.Follow(&snap)
	result, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: ours})
	w.Expect(err).NotTo(HaveOccurred())
	return result
}

// problems are those that a decision sees; nil if it sees no judgement.
func (w *world) problems() []page.Problem {
	w.t.Helper()
	snap, err := w.Observe(w.t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Content.Judged).To(BeTrue())
	return snap.Content.Problems
}

// wakes is how many Services were woken since it was asked last.
func (w *world) wakes() int {
	count := w.woken.Len()
	for range count {
		item, _ := w.woken.Get()
		w.woken.Done(item)
	}
	return count
}

func TestEachVersionIsJudgedOnce(t *testing.T) {
	w := newWorld(t)
	w.publish(map[string]string{"eta": "soon"})
	snap, err := w.Observe(t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Content).To(HaveValue(HaveField("Judged", false)), "a decision judges nothing itself")

	w.look()
	w.Expect(w.problems()).To(ConsistOf(HaveField("Key", "eta")))
	w.Expect(w.wakes()).To(Equal(1))
	for range 3 {
		w.look()
	}
	w.Expect(w.live.reads).To(Equal(1))
	w.Expect(w.wakes()).To(BeZero())

	w.clock.SetTime(w.clock.Now().Add(interval))
	w.publish(map[string]string{"eta": "2030-01-31T18:30:00Z"})
	w.Expect(w.problems()).To(HaveLen(1), "until it is read, a version counts as the one before")
	w.look()
	w.Expect(w.problems()).To(BeEmpty())
	w.Expect(w.wakes()).To(Equal(1))
}

func TestContentThatIsWrittenInALoopIsReadOnceASecond(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.publish(map[string]string{"eta": "soon", "n": string(rune('a' + i))})
		result := w.look()
		if i%10 > 0 {
			w.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		}
		w.clock.SetTime(w.clock.Now().Add(interval / 10))
	}
	w.Expect(w.live.reads).To(Equal(2))
	w.Expect(w.wakes()).To(Equal(1), "the problems are the same")
}

func TestContentThatNoPageNamesIsNotRead(t *testing.T) {
	w := newWorld(t)
	w.publish(map[string]string{"eta": "soon"})
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: ours})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.live.reads).To(BeZero(), "no Service was seen that shows it")

	w.look()
	w.Expect(w.Memory.Contents.Keys()).To(ConsistOf(memory.ObjectKey(ours)))
	w.Expect(w.client.DeleteAllOf(t.Context(), &criticalv2.CriticalService{})).To(Succeed())
	w.clock.SetTime(w.clock.Now().Add(interval))
	w.publish(map[string]string{"eta": "later"})
	w.look()
	w.Expect(w.live.reads).To(Equal(1))
	w.Expect(w.Memory.Contents.Keys()).To(BeEmpty())
}

func TestContentIsForgottenWithItsConfigMap(t *testing.T) {
	w := newWorld(t)
	w.publish(nil)
	w.look()
	w.Expect(w.client.DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(ours.Namespace))).To(Succeed())
	w.look()
	w.Expect(w.Memory.Contents.Keys()).To(BeEmpty())
	snap, err := w.Observe(t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Content).To(BeNil())
}
