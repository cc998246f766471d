package maintenance_test

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/test/testenv"
)

func TestAMaintenanceEndsByItself(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	w.Expect(m.Status.Owed).To(Equal(&criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3}))
	w.Expect(m.Finalizers).To(ConsistOf(criticalv2.FinalizerRestore))
	w.Expect(m.Status.Operator).To(Equal("system:serviceaccount:" + testenv.OperatorNamespace + ":critical-service-operator"))
	w.Expect(m.Status.Since.Time).To(Equal(m.CreationTimestamp.Time))
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceAnnounced))

	w.ends(m)
	w.Eventually(w.replicas).Should(Equal(int32(3)), "the workload gets back what it had")
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreDone))
	w.Expect(m.Status.Owed).To(BeNil())
	w.Expect(m.Status.Restored).To(Equal(m.Spec.Restore))
	w.Eventually(func() []string { w.Expect(w.Exists(m)).To(BeTrue()); return m.Finalizers }).Should(BeEmpty())
	w.Eventually(w.EventsOf(m, "WorkloadRestored")).Should(HaveLen(1))
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceAwaitingApplication), "the page stays until the application is back")
	w.Expect(m.Status.Ended).To(BeNil())

	w.comeBack()
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Expect(m.Status.Ended).NotTo(BeNil())
	w.Eventually(w.EventsOf(m, "MaintenanceEnded")).Should(HaveLen(1))
	w.Expect(w.scalings()).To(HaveLen(1))
}

func TestOneThatHasEndedIsKeptForItsTime(t *testing.T) {
	w := newWorld(t)
	w.comeBack()
	w.start()
	keptFor := func(seconds int32) option {
		return func(m *criticalv2.Maintenance) { m.Spec.TTLSecondsAfterFinished = &seconds }
	}
	kept := w.announce(until(over()), named("kept"))
	hour := w.announce(until(over()), named("hour"), keptFor(3600))
	gone := w.announce(until(over()), named("gone"), keptFor(0))
	w.Eventually(w.Exists).WithArguments(gone).Should(BeFalse())
	w.Eventually(w.active(kept)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Eventually(w.active(hour)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Eventually(func() bool { return w.operator.IsDue("maintenance", `"name"="hour"`) }).Should(BeTrue(), "it comes back to it")
	w.Expect(w.Exists(hour)).To(BeTrue())
}

func TestBeforeItsEndNothingIsScaled(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.comeBack()
	w.start()
	m := w.takenAway()
	version := m.Generation
	testenv.Update(w.World, m, func(m *criticalv2.Maintenance) { m.Spec.Message = "We still move house." })
	w.Eventually(func() int64 { w.Expect(w.Exists(m)).To(BeTrue()); return m.Status.ObservedGeneration }).Should(BeNumerically(">", version))
	w.Expect(w.scalings()).To(BeEmpty())
}

func TestAMaintenanceIsEndedByTheNextOperator(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	w.stop()
	w.ends(m)
	w.start()
	w.Eventually(w.replicas).Should(Equal(int32(3)))
	w.comeBack()
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
}

// A user who deletes a Maintenance does not know what it owes.
func TestADeletedMaintenanceGivesBackWhatItOwes(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	w.Delete(m)
	w.Eventually(w.Exists).WithArguments(m).Should(BeFalse())
	w.Expect(w.replicas()).To(Equal(int32(3)))
	w.Eventually(w.EventsOf(m, "WorkloadRestored")).Should(HaveLen(1))
}

func TestADeletedMaintenanceIsNotKeptByAMissingPermission(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	w.revoke()
	w.Delete(m)
	w.Eventually(w.Exists).WithArguments(m).Should(BeFalse(), "a namespace that ends cannot wait")
	w.Eventually(w.EventsOf(m, "RestoreFailed")).Should(HaveLen(1))
	w.Expect(w.Events(m, "RestoreFailed")[0].Message).To(ContainSubstring("kubectl scale -n " + w.Namespace + " deployments.apps/shop --replicas=3"))
	w.Expect(w.replicas()).To(BeZero())
}

func TestAnAnswerThatIsLostDoesNotGiveBackTwice(t *testing.T) {
	w := newWorld(t)
	w.permit()
	var lost atomic.Int32
	w.start(func(r testenv.Request) testenv.Verdict {
		if r.Method == http.MethodPatch && r.Resource() == "deployments/scale" && lost.Add(1) == 1 {
			return testenv.LoseAnswer
		}
		return testenv.Pass
	})
	m := w.takenAway()
	w.ends(m)
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreDone))
	w.Expect(w.replicas()).To(Equal(int32(3)))
	w.Expect(w.scalings()).To(HaveLen(1), "it was given back, and seen to be")

	w.scale(0) // A user wants it so.
	testenv.Update(w.World, m, func(m *criticalv2.Maintenance) { m.Spec.Message = "Almost." })
	w.comeBack()
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Expect(w.replicas()).To(BeZero(), "what was given back once is not given back again")
}

func TestWhatWasGivenBackIsReportedAlthoughTheStatusWriteFails(t *testing.T) {
	w := newWorld(t)
	w.permit()
	var given, lost atomic.Bool
	w.start(func(r testenv.Request) testenv.Verdict {
		switch {
		case r.Method == http.MethodPatch && r.Resource() == "deployments/scale":
			given.Store(true)
		case r.Method == http.MethodPatch && r.Resource() == "maintenances/status" && given.Load() && lost.CompareAndSwap(false, true):
			return testenv.Lose
		}
		return testenv.Pass
	})
	m := w.takenAway()
	w.ends(m)
	w.Eventually(w.restored(m)).ShouldNot(Or(BeEmpty(), Equal(criticalv2.RestoreOwed)))
	w.Eventually(w.EventsOf(m, "WorkloadRestored")).Should(HaveLen(1))
	w.Expect(lost.Load()).To(BeTrue())
}

func TestAWorkloadGetsBackNoMoreThanItHad(t *testing.T) {
	for sentence, c := range map[string]struct {
		has, owed int32
		reason    string
		stateful  bool
	}{
		"what it had, where the Maintenance says more": {2, 2, criticalv2.RestoreOwed, false},
		"what the Maintenance says, where it had more": {5, 3, criticalv2.RestoreOwed, false},
		"nothing, where it had nothing":                {0, 0, criticalv2.RestoreNothingTaken, false},
		"what it had, where it is a StatefulSet":       {2, 2, criticalv2.RestoreOwed, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			if c.stateful {
				w.stateful()
			}
			w.permit()
			w.scale(c.has)
			w.start()
			m := w.announce(w.restoring(3))
			w.Eventually(w.restored(m)).Should(Equal(c.reason))
			if c.owed > 0 {
				w.Expect(m.Status.Owed.Replicas).To(Equal(c.owed))
			}
			w.scale(0)
			w.comeBack()
			w.ends(m)
			w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
			w.Eventually(w.replicas).Should(Equal(c.owed))
		})
	}
}

func TestAWorkloadThatWasScaledMeanwhileIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	w.scale(1)
	w.comeBack()
	w.ends(m)
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Expect(w.replicas()).To(Equal(int32(1)))
	w.Expect(w.scalings()).To(BeEmpty())
}

func TestAWorkloadThatIsGoneIsOwedNothing(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	w.Delete(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: w.Namespace}})
	w.comeBack()
	w.ends(m)
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Expect(m.Status.Owed).To(BeNil())
}

func TestADrillEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway(func(m *criticalv2.Maintenance) { m.Spec.Purpose = criticalv2.PurposeDrill })
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceDrill))
	w.ends(m)
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded), "nothing waits for the application")
	w.Expect(w.replicas()).To(Equal(int32(3)))
}

func TestWithoutAPermissionNothingIsSeenAndNothingGivenBack(t *testing.T) {
	w := newWorld(t)
	w.start()
	m := w.announce(w.restoring(3))
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreNotPermitted))
	w.Expect(m.Finalizers).To(BeEmpty())
	w.permit()
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreOwed), "it is asked for again, soon")
	w.scale(0)

	w.revoke()
	w.ends(m)
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreFailed))
	w.Eventually(w.EventsOf(m, "RestoreFailed")).Should(HaveLen(1))
	w.Expect(w.Events(m, "RestoreFailed")[0].Message).To(ContainSubstring("kubectl scale"))
	w.permit()
	w.Eventually(w.replicas).Should(Equal(int32(3)), "with the permission it goes on")
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreDone))
}

// Any team can write Maintenances that no Role permits, and as many as it likes. The operator asks
// for each of them ever more seldom, so that all of them leave it time for others.
func TestManyThatAreNotPermittedAreAskedForSeldom(t *testing.T) {
	const many, rest = 100, 3 * time.Second
	w := newWorld(t)
	w.permit()
	w.start()
	m := w.takenAway()
	refused := make([]*criticalv2.Maintenance, many)
	for i := range refused {
		refused[i] = w.announce(named(fmt.Sprintf("never-%d", i)), w.restoring(3))
	}
	for _, never := range refused {
		w.Eventually(w.restored(never)).Should(Equal(criticalv2.RestoreNotPermitted))
	}
	w.stop()
	w.sinceAnHour(refused...)

	w.start()
	asked := func() int {
		return len(w.operator.Traffic.Requests(func(r testenv.Request) bool { return r.Resource() == "selfsubjectaccessreviews" }))
	}
	w.Eventually(asked).Should(Equal(many), "the next operator asks for each of them")
	w.ends(m)
	w.Eventually(w.restored(m)).Should(Equal(criticalv2.RestoreDone)) // Else its next look could come before the cache shows that.
	w.comeBack()
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Expect(w.replicas()).To(Equal(int32(3)))
	w.Eventually(func() time.Duration { return w.operator.Idle(w.Namespace) }).Should(BeNumerically(">", rest))
	w.Expect(asked()).To(Equal(many+2), "each of them once, and both rights to what was given back")
}

// A user who may write Maintenances, and not scale, must not use what was permitted to
// another one.
func TestThePermissionOfOneMaintenanceIsNotAnothers(t *testing.T) {
	w := newWorld(t)
	w.permit()
	w.start()
	w.takenAway()
	other := w.announce(named("cart"), w.restoring(1000))
	w.Eventually(w.restored(other)).Should(Equal(criticalv2.RestoreNotPermitted))
	w.ends(other)
	w.comeBack()
	w.Eventually(w.active(other)).Should(Equal(criticalv2.MaintenanceEnded))
	w.Expect(w.scalings()).To(BeEmpty())
	w.Expect(w.replicas()).To(BeZero())
}

func TestWhatIsOwedCannotBeChanged(t *testing.T) {
	w := newWorld(t)
	m := w.announce(w.restoring(3))
	for sentence, patch := range map[string]string{
		"more replicas":    `{"spec":{"restore":{"replicas":1000}}}`,
		"another workload": `{"spec":{"restore":{"deployment":"cart"}}}`,
		"nothing":          `{"spec":{"restore":null}}`,
		"another purpose":  `{"spec":{"purpose":"Drill"}}`,
	} {
		err := w.Cluster.Client.Patch(t.Context(), m.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
		w.Expect(err).To(MatchError(ContainSubstring("must not be changed")), sentence)
	}
	m.Spec.Until = new(metav1.NewTime(time.Now().Add(2 * time.Hour)))
	w.Expect(w.Cluster.Client.Update(t.Context(), m)).To(Succeed(), "the end can be")
}

func TestAScheduleThatCannotBeReadIsReported(t *testing.T) {
	w := newWorld(t)
	w.start()
	m := w.announce(recurring("0 2 * * SON", ""))
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceScheduleInvalid))
	w.Eventually(w.EventsOf(m, "ScheduleInvalid")).Should(HaveLen(1))
	w.Expect(w.Events(m, "ScheduleInvalid")[0].Message).To(ContainSubstring(`spec.recurring.schedule: "0 2 * * SON" is not a schedule`))
	testenv.Update(w.World, m, recurring("0 2 * * SUN", "Europe/Berlin"))
	w.Eventually(w.active(m)).ShouldNot(Equal(criticalv2.MaintenanceScheduleInvalid))
	w.Expect(m.Status.Next.In(berlin(w)).Weekday()).To(Equal(time.Sunday))
}

func TestAWindowThatRunsIsAnnouncedWithItsEnd(t *testing.T) {
	w := newWorld(t)
	w.start()
	m := w.announce(recurring(daily(0), "")) // It began in this minute.
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceAnnounced))
	w.Expect(m.Announces(time.Now())).To(BeTrue())
	w.Expect(m.Status.Until.Sub(m.Status.Since.Time)).To(Equal(time.Hour))
	w.Expect(m.Announcement().Until).To(Equal(m.Status.Until))
}

func TestAFallbackIsNotTheApplication(t *testing.T) {
	w := newWorld(t)
	w.start()
	fallback := w.Pod("fallback", w.service, func(p *corev1.Pod) {
		p.Labels = map[string]string{
			"app": "shop", criticalv2.LabelFallbackFor: "shop",
		}
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
			&criticalv2.CriticalService{ObjectMeta: metav1.ObjectMeta{Name: "front", UID: "front"}}, criticalv2.CriticalServiceKind)}
	})
	w.MakeReady(fallback)
	w.PublishEndpoints(w.service)
	m := w.announce(until(over()))
	w.Eventually(w.active(m)).Should(Equal(criticalv2.MaintenanceAwaitingApplication), "only the application itself ends it")
}
