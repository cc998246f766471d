package status

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/controllers/criticalservice/internal/wake"
	"github.com/critical-service/operator/controllers/criticalservice/metrics"
	"github.com/critical-service/operator/internal/controller/queue"
)

// room is the status controller over the caches of a test, with CriticalService "shop",
// which matches the Services of namespace "shop".
type room struct {
	testing.TB
	Gomega
	*Reconciler
	client client.Client
	clock  *clocktesting.FakePassiveClock
}

func roomOf(t testing.TB, services int) *room {
	t.Helper()
	objects := []client.Object{policyObject()}
	for i := range services {
		objects = append(objects, serviceObject(nameOf(i)))
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(1_800_000_000, 0))
	observer, caches := observetest.Of(t, objects...)
	observer.Clock = clock
	return &room{t, NewWithT(t), &Reconciler{
		Observer: observer, Client: caches, Metrics: metrics.New(observer.Memory), Wake: wake.NewStatus(observer.Memory), Protect: queue.NewWaker(0),
	}, caches, clock}
}

func policyObject() *criticalv2.CriticalService {
	return &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "one", Generation: 1},
		Spec: criticalv2.CriticalServiceSpec{
			Namespaces: []string{"shop"}, ServiceSelector: metav1.LabelSelector{MatchLabels: map[string]string{"role": "critical"}},
			ProtectionSpec: criticalv2.ProtectionSpec{Fallback: criticalv2.Fallback{Page: &criticalv2.PageFallback{}}},
		},
	}
}

func nameOf(i int) string { return fmt.Sprintf("web-%d", i) }

func serviceObject(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{"role": "critical"}}}
}

// judge stores what was decided about a Service, by the spec as it is.
func (r *room) judge(name string, state criticalv2.ServiceState) {
	key := types.NamespacedName{Namespace: "shop", Name: name}
	r.Memory.Judgements.Set(key, summary.Judgement{
		Service: key, At: r.clock.Now(), Matching: []summary.Policy{summary.PolicyOf(r.policy())},
		State: state, Reason: criticalv2.ReasonStandbyReady, Message: "A sentence.",
	})
}

func (r *room) policy() *criticalv2.CriticalService {
	r.Helper()
	found := &criticalv2.CriticalService{}
	r.Expect(r.client.Get(r.Context(), types.NamespacedName{Name: "shop"}, found)).To(Succeed())
	return found
}

// pass reconciles, and reports whether the status was written.
func (r *room) pass() (wrote bool, again time.Duration) {
	r.Helper()
	before := r.policy().ResourceVersion
	result, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
	r.Expect(err).NotTo(HaveOccurred())
	return r.policy().ResourceVersion != before, result.RequeueAfter
}

func (r *room) later(d time.Duration) { r.clock.SetTime(r.clock.Now().Add(d)) }

func TestNoStatusIsWrittenFromAPartOfTheServices(t *testing.T) {
	r := roomOf(t, 3)
	for i := range 3 {
		wrote, again := r.pass()
		r.Expect(wrote).To(BeFalse(), "%d of 3 Services were judged", i)
		r.Expect(again).To(Equal(pace), "one that is waited for may go without a judgement")
		r.judge(nameOf(i), criticalv2.StateArmed)
	}
	r.Expect(first(r.pass())).To(BeTrue())
	r.Expect(r.policy().Status.Services).To(Equal(criticalv2.ServiceCounts{Total: 3, Armed: 3}))

	r.later(pace)
	r.Expect(r.client.Create(t.Context(), serviceObject("new"))).To(Succeed())
	r.judge(nameOf(0), criticalv2.StateCovered)
	r.Expect(first(r.pass())).To(BeTrue(), "what begins later is not waited for")
	r.Expect(r.policy().Status.Services).To(Equal(criticalv2.ServiceCounts{Total: 3, Armed: 2, Covered: 1}))
}

// Else it would be waited for, and stay without protection, until something else wakes it.
func TestAServiceThatIsWaitedForAgainIsWoken(t *testing.T) {
	r := roomOf(t, 1)
	services := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[ctrl.Request]())
	defer services.ShutDown()
	r.Expect(r.Protect.Start(t.Context(), services)).To(Succeed())
	r.pass()
	r.Expect(services.Len()).To(Equal(0))
	r.pass()
	r.Expect(services.Len()).To(Equal(1))
}

func TestAServiceThatIsGoneIsNotWaitedFor(t *testing.T) {
	r := roomOf(t, 2)
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeFalse())
	r.Expect(r.client.Delete(t.Context(), serviceObject(nameOf(1)))).To(Succeed())
	r.Expect(first(r.pass())).To(BeTrue())
	r.Expect(r.policy().Status.Services.Total).To(BeEquivalentTo(1))
}

// A status that says that it is about a spec was made by this spec.
func TestANewSpecIsJudgedFirst(t *testing.T) {
	r := roomOf(t, 2)
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.judge(nameOf(1), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeTrue())
	r.later(pace)
	policy := r.policy()
	policy.Generation = 2
	r.Expect(r.client.Update(t.Context(), policy)).To(Succeed())
	r.judge(nameOf(0), criticalv2.StateArming)
	r.Expect(first(r.pass())).To(BeFalse())
	r.judge(nameOf(1), criticalv2.StateArming)
	r.Expect(first(r.pass())).To(BeTrue())
	r.Expect(r.policy().Status.ObservedGeneration).To(BeEquivalentTo(2))
}

func TestAStatusIsWrittenOnceASecond(t *testing.T) {
	r := roomOf(t, 50)
	for i := range 50 {
		r.judge(nameOf(i), criticalv2.StateArmed)
	}
	r.Expect(first(r.pass())).To(BeTrue())
	for i := range 50 {
		r.judge(nameOf(i), criticalv2.StateCovered)
		wrote, again := r.pass()
		r.Expect(wrote).To(BeFalse())
		r.Expect(again).To(Equal(pace - time.Duration(i)*10*time.Millisecond))
		r.later(10 * time.Millisecond)
	}
	r.later(pace)
	wrote, again := r.pass()
	r.Expect(wrote).To(BeTrue())
	r.Expect(again).To(BeZero())
	r.Expect(r.policy().Status.Services.Covered).To(BeEquivalentTo(50), "one write carries all")
	r.later(pace)
	r.Expect(first(r.pass())).To(BeFalse(), "nothing has changed")
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeTrue(), "the first change after a pause does not wait")
}

// behind is a cache that shows an earlier version of a policy.
type behind struct {
	client.Reader
	policy *criticalv2.CriticalService
}

func (b behind) Get(ctx context.Context, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if policy, isPolicy := object.(*criticalv2.CriticalService); isPolicy {
		b.policy.DeepCopyInto(policy)
		return nil
	}
	return b.Reader.Get(ctx, key, object, options...)
}

// The Service goes on to a state and back before the cache shows that the first was written.
func TestAStatusIsWrittenWhenTheCacheShowsAnother(t *testing.T) {
	r := roomOf(t, 1)
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeTrue())
	before := r.policy()
	r.later(pace)
	r.judge(nameOf(0), criticalv2.StateCovered)
	r.Expect(first(r.pass())).To(BeTrue())

	r.Cached = behind{r.client, before}
	r.later(pace)
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeFalse(), "so it is in the cache")

	r.Cached = r.client
	r.Expect(changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: r.policy()})).To(BeTrue())
	r.Expect(first(r.pass())).To(BeTrue())
	r.Expect(r.policy().Status.Services.Armed).To(BeEquivalentTo(1))
}

func TestAStatusThatOthersChangedWakesTheController(t *testing.T) {
	r := roomOf(t, 1)
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeTrue())
	ours := r.policy()
	r.Expect(changed.Update(event.UpdateEvent{ObjectOld: ours, ObjectNew: ours})).To(BeFalse(), "a resync is no change")
	theirs := r.policy()
	theirs.Status = criticalv2.ProtectionStatus{}
	r.Expect(r.client.Status().Update(t.Context(), theirs)).To(Succeed())
	r.Expect(changed.Update(event.UpdateEvent{ObjectOld: ours, ObjectNew: theirs})).To(BeTrue())
	r.later(pace)
	r.Expect(first(r.pass())).To(BeTrue())
	r.Expect(r.policy().Status.Services.Total).To(BeEquivalentTo(1))
}

func TestNothingIsKeptOfACriticalServiceThatIsGone(t *testing.T) {
	r := roomOf(t, 1)
	r.judge(nameOf(0), criticalv2.StateArmed)
	r.Expect(first(r.pass())).To(BeTrue())
	r.Expect(r.Memory.Statuses.Keys()).To(ConsistOf(types.NamespacedName{Name: "shop"}))
	r.Expect(r.client.Delete(t.Context(), r.policy())).To(Succeed())
	_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "shop"}})
	r.Expect(err).NotTo(HaveOccurred())
	r.Expect(r.Memory.Statuses.Keys()).To(BeEmpty())
}

func TestWhatElseIsKnownOfAService(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: nameOf(0)}
	silent := summary.Check{Asked: 1, Silence: &summary.Silence{Message: "It is silent."}}
	tests := map[string]struct {
		published, untested bool
		want                *summary.Check
	}{
		"its standby was tested": {published: true, want: &silent},
		"it has no standby":      {want: &summary.Check{}},
		"the self-test is off":   {published: true, untested: true, want: &summary.Check{}},
		"both":                   {untested: true, want: &summary.Check{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := roomOf(t, 1)
			r.Untested = test.untested
			r.Memory.Checks.Set(key, silent)
			cause := &criticalv2.OutageCause{Reason: criticalv2.CauseCrashLoop}
			r.Memory.Diagnoses.Set(key, memory.Diagnosis{Cause: cause})
			verdicts := r.verdicts([]*memory.Judged{{Judgement: summary.Judgement{Service: key, Published: test.published}}})
			r.Expect(verdicts[0].Check).To(Equal(test.want))
			r.Expect(verdicts[0].Cause).To(Equal(cause))
		})
	}
}

// A standby that is published and was not tested yet is no standby that answers.
func TestAStandbyThatIsYetToBeTestedHasNoCheck(t *testing.T) {
	r := roomOf(t, 0)
	verdicts := r.verdicts([]*memory.Judged{{Judgement: summary.Judgement{Published: true}}})
	r.Expect(verdicts[0].Check).To(BeNil())
}

func first(wrote bool, _ time.Duration) bool { return wrote }

// BenchmarkStatus measures one pass over a CriticalService with 10,000 Services, of
// which one has changed.
func BenchmarkStatus(b *testing.B) {
	const services = 10_000
	r := roomOf(b, 0)
	for i := range services {
		r.judge(nameOf(i), criticalv2.StateArmed)
	}
	states := []criticalv2.ServiceState{criticalv2.StateCovered, criticalv2.StateArmed}
	r.pass()
	for i := 0; b.Loop(); i++ {
		r.later(pace)
		r.judge(nameOf(0), states[i%2])
		if wrote, _ := r.pass(); !wrote {
			b.Fatal("nothing was written")
		}
	}
}
