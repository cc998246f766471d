package reading

import (
	"context"
	"strings"
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
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
)

var (
	web  = types.NamespacedName{Namespace: "shop", Name: "web"}
	ours = types.NamespacedName{Namespace: "shop", Name: "sorry"}
)

// apiServer counts how often PodTemplates are read whole.
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

// world is a Service whose fallback is a Pod of a template of its namespace.
type world struct {
	Gomega
	*Reconciler
	t      *testing.T
	client client.Client
	live   *apiServer
	clock  *testclock.FakePassiveClock
	woken  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

func newWorld(t *testing.T, more ...client.Object) *world {
	t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, Labels: map[string]string{"tier": "front"}}}
	policy := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "storefront"}, Spec: criticalv2.CriticalServiceSpec{
		ServiceSelector: metav1.LabelSelector{MatchLabels: service.Labels},
		Fallback:        criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{Namespace: ours.Namespace, Name: ours.Name}},
	}}
	observer, all := observetest.Of(t, append(more, service, policy)...)
	w := &world{
		Gomega: NewWithT(t), t: t, client: all, live: &apiServer{Reader: all}, clock: testclock.NewFakePassiveClock(time.Now()),
		woken: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]()),
	}
	t.Cleanup(w.woken.ShutDown)
	observer.Live, observer.Clock = w.live, w.clock
	observer.Settings = decide.Settings{Template: types.NamespacedName{Namespace: "system", Name: "page"}, OperatorNamespace: "system"}
	w.Reconciler = &Reconciler{Observer: observer, Readings: NewReadings(observer.Memory)}
	w.Expect(w.Readings.Changed.Start(t.Context(), w.woken)).To(Succeed())
	return w
}

// write makes the PodTemplate, or another version of it.
func (w *world) write(image string) {
	w.t.Helper()
	template := &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Namespace: ours.Namespace, Name: ours.Name, UID: "ours"},
		Template:   corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}}},
	}
	err := w.client.Create(w.t.Context(), template)
	if err != nil {
		err = w.client.Update(w.t.Context(), template)
	}
	w.Expect(err).NotTo(HaveOccurred())
}

func (w *world) observe() decide.Snapshot {
	w.t.Helper()
	snap, err := w.ObserveCached(w.t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	return snap
}

// look is what the Service's controller and this one do after an event.
func (w *world) look() ctrl.Result {
	w.t.Helper()
	snap := w.observe()
	w.Readings.Follow(&snap)
	result, err := w.Reconcile(w.t.Context(), ctrl.Request{NamespacedName: ours})
	w.Expect(err).NotTo(HaveOccurred())
	return result
}

// image is that of the template as a decision sees it.
func (w *world) image() string {
	w.t.Helper()
	snap := w.observe()
	w.Expect(snap.Unread).To(BeEmpty())
	return snap.Template.Template.Spec.Containers[0].Image
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

func TestEachVersionIsReadOnce(t *testing.T) {
	w := newWorld(t)
	w.write("one")
	snap := w.observe()
	w.Expect(snap.Template).To(BeNil(), "a decision reads nothing whole")
	w.Expect(snap.Unread).To(ConsistOf(ours))

	w.look()
	w.Expect(w.image()).To(Equal("one"))
	w.Expect(w.wakes()).To(Equal(1))
	for range 3 {
		w.look()
	}
	w.Expect(w.live.reads).To(Equal(1))
	w.Expect(w.wakes()).To(BeZero())

	w.clock.SetTime(w.clock.Now().Add(interval))
	w.write("two")
	w.Expect(w.image()).To(Equal("one"), "until it is read, a version counts as the one before")
	w.look()
	w.Expect(w.image()).To(Equal("two"))
	w.Expect(w.wakes()).To(Equal(1))

	w.clock.SetTime(w.clock.Now().Add(interval))
	w.write("two")
	w.look()
	w.Expect(w.wakes()).To(BeZero(), "it says the same")
}

func TestATemplateThatIsWrittenInALoopIsReadOnceASecond(t *testing.T) {
	w := newWorld(t)
	for i := range 20 {
		w.write(string(rune('a' + i)))
		result := w.look()
		if i%10 > 0 {
			w.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
		}
		w.clock.SetTime(w.clock.Now().Add(interval / 10))
	}
	w.Expect(w.live.reads).To(Equal(2))
}

// A Pod may be given up for a new version: what is not the last one is no reason.
func TestALiveLookTrustsNoVersionButTheLast(t *testing.T) {
	w := newWorld(t)
	w.write("one")
	w.look()
	snap, err := w.ObserveLive(t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Template).NotTo(BeNil())

	w.write("two")
	snap, err = w.ObserveLive(t.Context(), web)
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(snap.Template).To(BeNil())
	w.Expect(snap.Unread).To(ConsistOf(ours))
	w.Expect(w.live.reads).To(Equal(1), "it asks for the version only")
}

func TestATemplateThatIsTooLargeIsNotKept(t *testing.T) {
	w := newWorld(t)
	w.write(strings.Repeat("x", decide.MaxTemplate))
	w.look()
	snap := w.observe()
	w.Expect(snap.Template).To(BeNil())
	w.Expect(snap.TemplateTooLarge).To(BeTrue())
	w.Expect(snap.Unread).To(BeEmpty())
	w.Expect(w.wakes()).To(Equal(1))

	w.clock.SetTime(w.clock.Now().Add(interval))
	w.write("one")
	w.look()
	w.Expect(w.image()).To(Equal("one"))
	w.Expect(w.wakes()).To(Equal(1))
}

func TestATemplateThatNoCriticalServiceNamesIsNotRead(t *testing.T) {
	w := newWorld(t)
	w.write("one")
	_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: ours})
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.live.reads).To(BeZero(), "no Service was seen that needs it")

	w.look()
	w.Expect(w.Memory.Templates.Keys()).To(ConsistOf(memory.ObjectKey(ours)))
	w.Expect(w.client.DeleteAllOf(t.Context(), &criticalv2.CriticalService{})).To(Succeed())
	w.look()
	w.Expect(w.live.reads).To(Equal(1))
	w.Expect(w.Memory.Templates.Keys()).To(BeEmpty(), "it is forgotten with the one that named it")
}

func TestATemplateThatIsGoneIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.write("one")
	w.look()
	w.Expect(w.client.DeleteAllOf(t.Context(), &corev1.PodTemplate{}, client.InNamespace(ours.Namespace))).To(Succeed())
	w.look()
	w.Expect(w.Memory.Templates.Keys()).To(BeEmpty())
	snap := w.observe()
	w.Expect(snap.Template).To(BeNil())
	w.Expect(snap.Unread).To(BeEmpty())
}

// A Service selects the fallback Pods of others of its namespace as well.
func TestTheTemplateOfANeighborIsRead(t *testing.T) {
	neighbor := &criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "admin"}, Spec: criticalv2.CriticalServiceSpec{
		ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"tier": "admin"}},
		Fallback: criticalv2.Fallback{PodTemplate: &criticalv2.PodTemplateFallback{
			Namespace: ours.Namespace, Name: ours.Name, Publish: criticalv2.PublishSelectorLabels,
		}},
	}}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "admin", Labels: map[string]string{"tier": "admin"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}
	w := newWorld(t, neighbor, service)
	policy := &criticalv2.CriticalService{}
	w.Expect(w.client.Get(t.Context(), types.NamespacedName{Name: "storefront"}, policy)).To(Succeed())
	policy.Spec.Fallback.PodTemplate = &criticalv2.PodTemplateFallback{Publish: criticalv2.PublishSelectorLabels}
	w.Expect(w.client.Update(t.Context(), policy)).To(Succeed())

	w.write("one")
	w.Expect(w.observe().Unread).To(ConsistOf(ours))
	w.look()
	snap := w.observe()
	w.Expect(snap.Unread).To(BeEmpty())
	w.Expect(snap.Neighbors).To(ConsistOf(HaveField("Template.Name", ours.Name)))
	w.Expect(w.wakes()).To(Equal(2), "the Service and its neighbor")
}
