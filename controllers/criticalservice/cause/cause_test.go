package cause

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/controllers/criticalservice/internal/summary"
	"github.com/critical-service/operator/internal/controller/events"
	"github.com/critical-service/operator/internal/diagnosis"
)

var (
	aService = types.NamespacedName{Namespace: "shop", Name: "web"}
	anOutage = decide.Plan{State: criticalv2.StateExposed}
)

// A whole cluster may fail in one moment, and before anybody listens.
func TestNoOutageIsLeftUnexplained(t *testing.T) {
	g := NewWithT(t)
	const many = 5000
	open := NewDiagnoses(time.Millisecond, memory.NewAnswers[criticalv2.OutageCause]())
	begin := func(from, to int) {
		for i := from; i < to; i++ {
			open.Follow(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}, &corev1.Service{}, anOutage)
		}
	}
	begin(0, many)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	g.Expect(open.listen(t.Context(), queue)).To(Succeed())
	begin(0, 2*many)
	g.Eventually(queue.Len).WithTimeout(time.Minute).Should(Equal(2 * many))
}

func TestACauseIsKeptWhateverAProgramWrites(t *testing.T) {
	g := NewWithT(t)
	causes := memory.NewAnswers[criticalv2.OutageCause]()
	open := newInquiries(time.Millisecond, causes)
	open.follow(aService, &corev1.Service{}, anOutage)
	settle := func(code int32, output string) bool {
		current, changed := open.settle(aService, open.of(aService), crashing(code, output))
		g.Expect(current).To(BeTrue())
		return changed
	}
	g.Expect(settle(1, "19:44 no database")).To(BeTrue())
	g.Expect(settle(1, "19:45 no database")).To(BeFalse())
	g.Expect(causes.Get(aService).Message).To(ContainSubstring("19:44"), "the status is not written again")
	g.Expect(settle(2, "19:46 no database")).To(BeTrue())
	g.Expect(causes.Get(aService).Message).To(ContainSubstring("19:46"))
}

// crashing is the diagnosis of a Service whose only Pod crashes again and again.
func crashing(code int32, output string) diagnosis.Diagnosis {
	app := map[string]string{"app": "web"}
	ended := &corev1.ContainerStateTerminated{ExitCode: code, Message: output}
	return diagnosis.Diagnose(diagnosis.Evidence{
		Service: &corev1.Service{Spec: corev1.ServiceSpec{Selector: app}},
		Pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "web-1", Labels: app},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web"}}},
			Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
				Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: corev1.ContainerState{Terminated: ended},
			}}},
		}},
	})
}

// A replica may wait for a long time to lead, and an outage begin meanwhile.
func TestWhatTheStatusSaysOfAnOutageIsNotToldAgain(t *testing.T) {
	g := NewWithT(t)
	recorder := clientevents.NewFakeRecorder(10)
	_, caches := observetest.Of(t)
	r := &Reconciler{Announcer: events.Announcer{Recorder: recorder, Scheme: caches.Scheme()}}
	crash := criticalv2.OutageCause{Reason: criticalv2.CauseCrashLoop, Message: "It crashes."}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: aService.Namespace, Name: aService.Name}}
	governor := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Status: criticalv2.CriticalServiceStatus{Details: []criticalv2.ServiceStatus{{
			Namespace: aService.Namespace, Name: aService.Name, Since: metav1.Now(), Cause: &crash,
		}}},
	}
	r.tell(&search{}, service, governor, crash)
	g.Expect(recorder.Events).NotTo(Receive())

	another := criticalv2.OutageCause{Reason: criticalv2.CauseImagePull, Message: "It has no image."}
	r.tell(&search{}, service, governor, another)
	g.Expect(recorder.Events).To(Receive(ContainSubstring("It has no image.")))

	governor.Status.Details[0].Cause = nil
	r.tell(&search{}, service, governor, crash)
	g.Expect(recorder.Events).To(Receive(ContainSubstring("It crashes.")))
}

// Only the service controller asks whose the Pod is that holds the fallback's name.
func TestALookAtCachesAsksNothing(t *testing.T) {
	g := NewWithT(t)
	caches := cached(g, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: aService.Namespace, Name: aService.Name}})
	looker := observer{
		cached: caches, live: nobodyAsked{t: t}, clock: clock.RealClock{}, tables: newTables(),
		attempts: memory.NewAnswers[decide.Attempt](), refusals: memory.NewAnswers[decide.Refusal](), causes: memory.NewAnswers[criticalv2.OutageCause](),
		checks: memory.NewAnswers[summary.Check](), namesakes: memory.NewAnswers[corev1.Pod](),
	}
	looker.attempts.Set(aService, decide.Attempt{Reason: criticalv2.ReasonNameTaken})
	open := newInquiries(time.Millisecond, looker.causes)
	open.follow(aService, &corev1.Service{}, anOutage)
	for _, looks := range []reconcile.Reconciler{
		&Reconciler{observer: looker, inquiries: open},
		&Reconciler{observer: looker, every: time.Minute, unconfirmed: memory.NewAnswers[map[question]bool]()},
	} {
		_, err := looks.Reconcile(t.Context(), ctrl.Request{NamespacedName: aService})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(looker.attempts.Get(aService)).NotTo(BeNil())
	}
}

// nobodyAsked is an API server that is not to be asked.
type nobodyAsked struct {
	client.Reader
	t *testing.T
}

// Get implements client.Reader.
func (n nobodyAsked) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	n.t.Errorf("the API server was asked for %T %s", into, key)
	return nil
}
