package cause

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/controller/events"
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

func TestACauseIsNotKeptAnewForOtherWords(t *testing.T) {
	g := NewWithT(t)
	causes := memory.NewAnswers[criticalv2.OutageCause]()
	open := NewDiagnoses(time.Millisecond, causes)
	open.Follow(aService, &corev1.Service{}, anOutage)
	settle := func(code, said string) bool {
		current, changed := open.settle(aService, open.of(aService), criticalv2.OutageCause{
			Reason: criticalv2.CauseCrashLoop, Message: "It ends with exit code " + code + ", saying: " + said + ".",
		})
		g.Expect(current).To(BeTrue())
		return changed
	}
	g.Expect(settle("1", "19:44 no database")).To(BeTrue())
	g.Expect(settle("1", "19:45 no database")).To(BeFalse())
	g.Expect(causes.Get(aService).Message).To(ContainSubstring("19:44"), "a status that is made anew is the same")
	g.Expect(settle("2", "19:46 no database")).To(BeTrue())
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
	observer, _ := observetest.Of(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: aService.Namespace, Name: aService.Name}})
	observer.Attempts.Set(aService, decide.Attempt{Reason: criticalv2.ReasonNameTaken})
	open := NewDiagnoses(time.Millisecond, observer.Causes)
	open.Follow(aService, &corev1.Service{}, anOutage)
	_, err := (&Reconciler{Observer: observer, Diagnoses: open}).Reconcile(t.Context(), ctrl.Request{NamespacedName: aService})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(observer.Attempts.Get(aService)).NotTo(BeNil())
}
