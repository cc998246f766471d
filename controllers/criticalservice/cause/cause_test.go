package cause

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/criticalservice/internal/decide"
	"github.com/critical-service/operator/controllers/criticalservice/internal/memory"
	"github.com/critical-service/operator/controllers/criticalservice/internal/observe/observetest"
	"github.com/critical-service/operator/internal/controller/queue"
	"github.com/critical-service/operator/internal/diagnosis"
)

var (
	aService = types.NamespacedName{Namespace: "shop", Name: "web"}
	anOutage = decide.Plan{State: criticalv2.StateExposed}
)

// A whole cluster may fail in one moment, and before the controller runs.
func TestNoOutageIsLeftUnexplained(t *testing.T) {
	g := NewWithT(t)
	const many = 5000
	open := NewDiagnoses(time.Millisecond, &memory.Memory{})
	begin := func(from, to int) {
		for i := from; i < to; i++ {
			open.Follow(types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("web-%d", i)}, anOutage)
		}
	}
	begin(0, many)
	requests := workqueue.NewTypedRateLimitingQueue(queue.Backoff[reconcile.Request](queue.LastRetry))
	defer requests.ShutDown()
	g.Expect(open.waker.Start(t.Context(), requests)).To(Succeed())
	begin(0, 2*many)
	g.Eventually(requests.Len).WithTimeout(time.Minute).Should(Equal(2 * many))
}

func TestASearchEndsWithItsOutage(t *testing.T) {
	g := NewWithT(t)
	known := &memory.Memory{}
	open := NewDiagnoses(time.Millisecond, known)
	open.Follow(aService, anOutage)
	last := known.Diagnoses.Get(aService)
	g.Expect(last).NotTo(BeNil())
	next := *last
	g.Expect(open.replace(aService, last, &next)).To(BeTrue())

	open.Follow(aService, decide.Plan{State: criticalv2.StateArmed})
	g.Expect(known.Diagnoses.Get(aService)).To(BeNil())
	late := next
	g.Expect(open.replace(aService, &next, &late)).To(BeFalse(), "the outage has ended")
	open.Follow(aService, anOutage)
	g.Expect(open.replace(aService, &next, &late)).To(BeFalse(), "this is another outage")
	g.Expect(known.Diagnoses.Get(aService)).To(Equal(&memory.Diagnosis{}))
}

// The first look is at once, however many Services are down.
func TestManySearchesLookAgainLater(t *testing.T) {
	tests := map[string]struct {
		looks             int
		young, old, plans int
		want              time.Duration
	}{
		"one search looks again soon":               {looks: 0, want: 2 * time.Second},
		"then later":                                {looks: 3, want: 30 * time.Second},
		"and then each minute":                      {looks: 99, want: time.Minute},
		"some searches change nothing":              {looks: 0, young: 19, want: 2 * time.Second},
		"a thousand share ten looks a second":       {looks: 0, young: 999, want: 100 * time.Second},
		"none waits for more than five minutes":     {looks: 0, young: 9999, want: 5 * time.Minute},
		"those that are open for long do not delay": {looks: 0, old: 5000, want: 2 * time.Second},
		"nor those that are planned":                {looks: 0, plans: 5000, want: 2 * time.Second},
		"those that are open for long share theirs": {looks: 99, old: 999, young: 999, want: 100 * time.Second},
		"what is later than that anyway stays so":   {looks: 99, old: 99, want: time.Minute},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			now := time.Unix(0, 0)
			known := &memory.Memory{}
			search := memory.Diagnosis{Looks: test.looks}
			known.Diagnoses.Set(aService, search)
			open := func(kind string, count int, others memory.Diagnosis) {
				for i := range count {
					known.Diagnoses.Set(types.NamespacedName{Namespace: kind, Name: fmt.Sprint(i)}, others)
				}
			}
			open("young", test.young, memory.Diagnosis{Looks: 1})
			open("old", test.old, memory.Diagnosis{Looks: 9})
			open("planned", test.plans, memory.Diagnosis{Planned: true})
			g.Expect(looked(&search, now, NewDiagnoses(0, known).peers(&search))).To(Equal(test.want))
			g.Expect(search).To(Equal(memory.Diagnosis{Looks: test.looks + 1, Next: now.Add(test.want)}))
		})
	}
}

func TestACauseIsKeptWhateverAProgramWrites(t *testing.T) {
	g := NewWithT(t)
	var known memory.Diagnosis
	changes := func(code int32, output string) bool {
		before := known.Cause
		learn(&known, crashing(code, output), nil)
		return known.Cause != before
	}
	g.Expect(changes(1, "19:44 no database")).To(BeTrue())
	g.Expect(changes(1, "19:45 no database")).To(BeFalse())
	g.Expect(known.Cause.Message).To(ContainSubstring("19:44"), "the status is not written again")
	g.Expect(changes(2, "19:46 no database")).To(BeTrue())
	g.Expect(known.Cause.Message).To(ContainSubstring("19:46"))
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
func TestWhatTheStatusSaysOfAnOutageIsNotReportedAgain(t *testing.T) {
	g := NewWithT(t)
	crash := criticalv2.OutageCause{Reason: criticalv2.CauseCrashLoop, Message: "It crashes."}
	governor := &criticalv2.CriticalService{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Status: criticalv2.ProtectionStatus{Details: []criticalv2.ServiceStatus{{
			Namespace: aService.Namespace, Name: aService.Name, Since: metav1.Now(), Cause: &crash,
		}}},
	}
	g.Expect(learn(&memory.Diagnosis{}, diagnosis.Diagnosis{OutageCause: crash}, inStatus(governor, aService))).To(BeFalse())

	another := diagnosis.Diagnosis{OutageCause: criticalv2.OutageCause{Reason: criticalv2.CauseImagePull, Message: "It has no image."}}
	var known memory.Diagnosis
	g.Expect(learn(&known, another, inStatus(governor, aService))).To(BeTrue())
	g.Expect(learn(&known, another, inStatus(governor, aService))).To(BeFalse(), "each reason is reported once")

	governor.Status.Details[0].Cause = nil
	g.Expect(learn(&memory.Diagnosis{}, diagnosis.Diagnosis{OutageCause: crash}, inStatus(governor, aService))).To(BeTrue())
	for _, unspoken := range []string{criticalv2.CauseNotFound, criticalv2.CausePodsStarting} {
		g.Expect(learn(&memory.Diagnosis{}, diagnosis.Diagnosis{OutageCause: criticalv2.OutageCause{Reason: unspoken}}, nil)).To(BeFalse())
	}
}

// Only the service controller asks whose the Pod is that holds the fallback's name.
func TestALookAtCachesAsksNothing(t *testing.T) {
	g := NewWithT(t)
	observer, _ := observetest.Of(t, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: aService.Namespace, Name: aService.Name}})
	observer.Memory.Attempts.Set(aService, decide.Attempt{Reason: criticalv2.ReasonNameTaken})
	open := NewDiagnoses(time.Millisecond, observer.Memory)
	open.Follow(aService, anOutage)
	_, err := (&Reconciler{Observer: observer, Diagnoses: open}).Reconcile(t.Context(), ctrl.Request{NamespacedName: aService})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(observer.Memory.Attempts.Get(aService)).NotTo(BeNil())
}

func TestASearchThatEndsWithTheOperatorIsNoFailure(t *testing.T) {
	g := NewWithT(t)
	var lines []string
	ctx, cancel := context.WithCancel(logr.NewContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})))
	unreachable := interceptor.NewClient(fake.NewFakeClient(), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no answer")
		},
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no answer")
		},
	})
	r := &Reconciler{Reader: unreachable}
	snap := decide.Snapshot{Service: &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: aService.Namespace, Name: aService.Name},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}},
	}}
	look := func() { r.diagnose(ctx, &snap, decide.Plan{}, &memory.Diagnosis{}, &memory.Diagnosis{})() }
	look()
	g.Expect(lines).To(HaveLen(1))
	cancel()
	look()
	g.Expect(lines).To(HaveLen(1), "the operator stops")
}
