package reading

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	gomegatypes "github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/internal/controller/queue"
)

var (
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
	ours = types.NamespacedName{Namespace: "shop", Name: "ours"}
)

// anyReader is a reader of any kind.
type anyReader interface {
	reconcile.Reconciler
	asPolicy(ctx context.Context, object client.Object, q queue.Requests)
}

// example is an object of a kind that a CriticalService names.
type example struct {
	fallback criticalv2.Fallback
	// object is a version of it with a text, and something else that no decision needs.
	object func(text string, n int) client.Object
	// one and two are texts that differ in what is known of them.
	one, two version
	reader   func(*Readers) anyReader
	keys     func(*memory.Memory) []memory.ObjectKey
	// seen is what a decision knows of it; false if it was not read yet.
	seen func(*decide.Snapshot) (any, bool)
}

// version is what an object says, and what a decision knows of it.
type version struct {
	text string
	seen gomegatypes.GomegaMatcher
}

var examples = map[string]example{"content": contentExample, "template": templateExample}

// apiServer counts how often objects are read whole.
type apiServer struct {
	client.Reader
	reads int
}

func (a *apiServer) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if _, isTemplate := into.(*corev1.PodTemplate); isTemplate {
		a.reads++
	}
	return a.Reader.Get(ctx, key, into, options...)
}

func (a *apiServer) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if _, isConfigMaps := list.(*corev1.ConfigMapList); isConfigMaps {
		a.reads++
	}
	return a.Reader.List(ctx, list, options...)
}

// world is a Service whose fallback names an object.
type world struct {
	Gomega
	observe.Observer
	*Readers
	example
	t      *testing.T
	client client.Client
	live   *apiServer
	clock  *testclock.FakePassiveClock
	woken  queue.Requests
	writes int
}

func newWorld(t *testing.T, of example, more ...client.Object) *world {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, Labels: map[string]string{"tier": "front"}}}
	policy := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "storefront"}, Spec: criticalv2.CriticalServiceSpec{
		ServiceSelector: metav1.LabelSelector{MatchLabels: service.Labels}, ProtectionSpec: criticalv2.ProtectionSpec{Fallback: of.fallback},
	}}
	observer, all := observetest.Of(t, append(more, service, policy)...)
	w := &world{
		Gomega: NewWithT(t), example: of, t: t, client: all, live: &apiServer{Reader: all},
		clock: testclock.NewFakePassiveClock(time.Now()), woken: newQueue(t),
	}
	observetest.Ask(&observer, w.live)
	observer.Clock = w.clock
	observer.Settings = decide.Settings{Template: types.NamespacedName{Namespace: "system", Name: "page"}, OperatorNamespace: "system"}
	w.Observer, w.Readers = observer, New(observer, wake.NewStatus(observer.Memory))
	w.Expect(w.Changed.Start(t.Context(), w.woken)).To(Succeed())
	return w
}

func newQueue(t *testing.T) queue.Requests {
	requests := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(requests.ShutDown)
	return requests
}

// write makes the object, or another version of it.
func (w *world) write(text string) {
	w.t.Helper()
	w.writes++
	object := w.object(text, w.writes)
	object.SetNamespace(ours.Namespace)
	object.SetName(ours.Name)
	object.SetUID("ours")
	err := w.client.Create(w.t.Context(), object)
	if err != nil {
		err = w.client.Update(w.t.Context(), object)
	}
	w.Expect(err).NotTo(HaveOccurred())
}

func (w *world) observe() decide.Snapshot {
	w.t.Helper()
	snap, err := w.ObserveCached(w.t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	return snap
}

// reconcile is what the reader does after an event.
func (w *world) reconcile() ctrl.Result {
	w.t.Helper()
	result, err := w.reader(w.Readers).Reconcile(w.t.Context(), ctrl.Request{NamespacedName: ours})
	w.Expect(err).NotTo(HaveOccurred())
	return result
}

// look is what the Service's controller and the reader do after an event.
func (w *world) look() ctrl.Result {
	w.t.Helper()
	snap := w.observe()
	w.Follow(&snap)
	return w.reconcile()
}

// sees is what a decision knows of the object, which was read.
func (w *world) sees() any {
	w.t.Helper()
	snap := w.observe()
	seen, isRead := w.seen(&snap)
	w.Expect(isRead).To(BeTrue())
	return seen
}

// wakes is how many Services were woken since it was asked last.
func (w *world) wakes() int { return len(taken(w.woken)) }

// taken takes what is in a queue.
func taken(requests queue.Requests) []types.NamespacedName {
	var keys []types.NamespacedName
	for range requests.Len() {
		item, _ := requests.Get()
		requests.Done(item)
		keys = append(keys, item.NamespacedName)
	}
	return keys
}

// forEach runs a test with an object of each kind.
func forEach(t *testing.T, test func(w *world)) {
	t.Helper()
	for name, of := range examples {
		t.Run(name, func(t *testing.T) { test(newWorld(t, of)) })
	}
}

func TestEachVersionIsReadOnce(t *testing.T) {
	forEach(t, func(w *world) {
		w.write(w.one.text)
		snap := w.observe()
		_, isRead := w.seen(&snap)
		w.Expect(isRead).To(BeFalse(), "a decision reads nothing whole")

		w.look()
		w.Expect(w.sees()).To(w.one.seen)
		w.Expect(w.wakes()).To(Equal(1))
		for range 3 {
			w.look()
		}
		w.Expect(w.live.reads).To(Equal(1))
		w.Expect(w.wakes()).To(BeZero())

		w.clock.SetTime(w.clock.Now().Add(interval))
		w.write(w.two.text)
		w.Expect(w.sees()).To(w.one.seen, "until it is read, a version counts as the one before")
		w.look()
		w.Expect(w.sees()).To(w.two.seen)
		w.Expect(w.wakes()).To(Equal(1))

		w.clock.SetTime(w.clock.Now().Add(interval))
		w.write(w.two.text)
		w.look()
		w.Expect(w.live.reads).To(Equal(3))
		w.Expect(w.wakes()).To(BeZero(), "it says the same")
	})
}

func TestWhatIsWrittenInALoopIsReadOnceASecond(t *testing.T) {
	forEach(t, func(w *world) {
		for i := range 20 {
			w.write(w.one.text)
			result := w.look()
			if i%10 > 0 {
				w.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
			}
			w.clock.SetTime(w.clock.Now().Add(interval / 10))
		}
		w.Expect(w.live.reads).To(Equal(2))
		w.Expect(w.wakes()).To(Equal(1), "it says the same")
	})
}

func TestWhatNoCriticalServiceNamesIsNotRead(t *testing.T) {
	forEach(t, func(w *world) {
		w.write(w.one.text)
		w.reconcile()
		w.Expect(w.live.reads).To(BeZero(), "no Service was seen that needs it")

		w.look()
		w.Expect(w.keys(w.Memory)).To(ConsistOf(memory.ObjectKey(ours)))
		w.Expect(w.client.DeleteAllOf(w.t.Context(), &criticalv2.CriticalService{})).To(Succeed())
		w.clock.SetTime(w.clock.Now().Add(interval))
		w.write(w.two.text)
		w.look()
		w.Expect(w.live.reads).To(Equal(1))
		w.Expect(w.keys(w.Memory)).To(BeEmpty())
	})
}

// No event of the object itself need follow.
func TestWhatWasReadIsForgottenWithTheCriticalServiceThatNamedIt(t *testing.T) {
	forEach(t, func(w *world) {
		w.write(w.one.text)
		w.look()
		w.Expect(w.client.DeleteAllOf(w.t.Context(), &criticalv2.CriticalService{})).To(Succeed())
		requests := newQueue(w.t)
		w.reader(w.Readers).asPolicy(w.t.Context(), &criticalv2.CriticalService{}, requests)
		w.Expect(taken(requests)).To(ConsistOf(ours))
		w.reconcile()
		w.Expect(w.live.reads).To(Equal(1))
		w.Expect(w.keys(w.Memory)).To(BeEmpty())
	})
}

func TestWhatIsGoneIsForgotten(t *testing.T) {
	forEach(t, func(w *world) {
		w.write(w.one.text)
		w.look()
		w.Expect(w.client.DeleteAllOf(w.t.Context(), w.object("", 0), client.InNamespace(ours.Namespace))).To(Succeed())
		w.look()
		w.Expect(w.keys(w.Memory)).To(BeEmpty())
		snap := w.observe()
		w.Expect(snap.Content).To(BeNil())
		w.Expect(snap.Template).To(BeNil())
		w.Expect(snap.Unread).To(BeEmpty())
	})
}
