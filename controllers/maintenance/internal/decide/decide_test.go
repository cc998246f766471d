package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/controllers/maintenance/internal/decide"
)

// at is a moment in Berlin, where clocks are turned twice a year.
func at(t *testing.T, text string) time.Time {
	t.Helper()
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	moment, err := time.ParseInLocation("2006-01-02 15:04", text, zone)
	if err != nil {
		t.Fatal(err)
	}
	return moment
}

func recurring(schedule string, length time.Duration) *criticalv2.Maintenance {
	return &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{
		Services:  []string{"shop"},
		Recurring: &criticalv2.Recurring{Schedule: schedule, TimeZone: "Europe/Berlin", Duration: metav1.Duration{Duration: length}},
	}}
}

func TestWindows(t *testing.T) {
	const sundays = "0 2 * * SUN"
	for sentence, c := range map[string]struct {
		schedule           string
		length             time.Duration
		now                string
		reason             string
		since, until, next string
	}{
		"before the first one": {
			sundays, 2 * time.Hour, "2026-11-21 12:00", criticalv2.MaintenanceScheduled, "", "", "2026-11-22 02:00",
		},
		"at its beginning": {
			sundays, 2 * time.Hour, "2026-11-22 02:00", criticalv2.MaintenanceAnnounced, "2026-11-22 02:00", "2026-11-22 04:00", "2026-11-29 02:00",
		},
		"a minute before its end": {
			sundays, 2 * time.Hour, "2026-11-22 03:59", criticalv2.MaintenanceAnnounced, "2026-11-22 02:00", "2026-11-22 04:00", "2026-11-29 02:00",
		},
		"at its end, while the application is not back": {
			sundays, 2 * time.Hour, "2026-11-22 04:00", criticalv2.MaintenanceAwaitingApplication, "2026-11-22 02:00", "2026-11-22 04:00", "2026-11-29 02:00",
		},
		"five minutes after its end": {
			sundays, 2 * time.Hour, "2026-11-22 04:05", criticalv2.MaintenanceScheduled, "", "", "2026-11-29 02:00",
		},
		"of two that ended a moment ago, the later": {
			"*/4 * * * *", time.Minute, "2026-11-22 12:09", criticalv2.MaintenanceAwaitingApplication, "2026-11-22 12:08", "2026-11-22 12:09", "2026-11-22 12:12",
		},
		"a window that begins while the application of the last is awaited": {
			"*/12 * * * *", 10 * time.Minute, "2026-11-22 12:12", criticalv2.MaintenanceAnnounced, "2026-11-22 12:12", "2026-11-22 12:22", "2026-11-22 12:24",
		},
		"a window keeps its length where the clock is turned back meanwhile": {
			"30 1 * * *", 3 * time.Hour, "2026-10-25 03:00", criticalv2.MaintenanceAnnounced, "2026-10-25 01:30", "2026-10-25 03:30", "2026-10-26 01:30",
		},
		"a window at a time that the clock skips does not begin that day": {
			"30 2 * * *", time.Hour, "2027-03-28 03:15", criticalv2.MaintenanceScheduled, "", "", "2027-03-29 02:30",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			plan := decide.Decide(decide.Snapshot{Now: at(t, c.now), Maintenance: recurring(c.schedule, c.length)})
			g.Expect(reasonOf(&plan, criticalv2.MaintenanceActive)).To(Equal(c.reason))
			for name, pair := range map[string]struct {
				got  *metav1.Time
				want string
			}{
				"since": {plan.Status.Since, c.since}, "until": {plan.Status.Until, c.until}, "next": {plan.Status.Next, c.next},
			} {
				if pair.want == "" {
					g.Expect(pair.got).To(BeNil(), name)
					continue
				}
				g.Expect(pair.got).NotTo(BeNil(), name)
				g.Expect(pair.got.Time).To(BeTemporally("==", at(t, pair.want)), name)
			}
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0), "the next change comes without an event")
		})
	}
}

func reasonOf(plan *decide.Plan, condition string) string {
	if found := meta.FindStatusCondition(plan.Status.Conditions, condition); found != nil {
		return found.Reason
	}
	return ""
}

func TestSchedulesThatAnnounceNothing(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*criticalv2.Recurring)
		says   string
	}{
		"a day that no week has": {
			func(r *criticalv2.Recurring) { r.Schedule = "0 2 * * SON" }, `spec.recurring.schedule: "0 2 * * SON" is not a schedule of five cron fields`,
		},
		"a date that no year has": {
			func(r *criticalv2.Recurring) { r.Schedule = "0 2 30 2 *" }, `spec.recurring.schedule: "0 2 30 2 *" is at no time within the next five years`,
		},
		"windows that overlap": {
			func(r *criticalv2.Recurring) { r.Schedule = "*/30 * * * *" }, "spec.recurring: a window of 1h0m0s that begins at 2026-11-22T01:30:00+01:00 does not end before the next one begins",
		},
		"windows that touch": {
			func(r *criticalv2.Recurring) { r.Schedule = "0 * * * *" }, "spec.recurring: a window of 1h0m0s that begins at 2026-11-22T02:00:00+01:00 does not end before the next one begins",
		},
		"a zone that does not exist": {
			func(r *criticalv2.Recurring) { r.TimeZone = "Europe/Atlantis" }, `spec.recurring.timeZone: "Europe/Atlantis" is not a zone`,
		},
		"a zone that is a path": {
			func(r *criticalv2.Recurring) { r.TimeZone = "../../etc/passwd" }, `spec.recurring.timeZone: "../../etc/passwd" is not a zone`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			m := recurring("0 2 * * SUN", time.Hour)
			m.Status.Since, m.Status.Until, m.Status.Ended = new(metav1.Now()), new(metav1.Now()), new(metav1.Now())
			c.change(m.Spec.Recurring)
			plan := decide.Decide(decide.Snapshot{Now: at(t, "2026-11-22 02:30"), Maintenance: m})
			active := meta.FindStatusCondition(plan.Status.Conditions, criticalv2.MaintenanceActive)
			g.Expect(active.Reason).To(Equal(criticalv2.MaintenanceScheduleInvalid))
			g.Expect(active.Message).To(HavePrefix(c.says))
			g.Expect(plan.Status.Since).To(BeNil())
			g.Expect(plan.Status.Next).To(BeNil())
			g.Expect(plan.Status.Ended).To(BeNil())
			stalled := meta.FindStatusCondition(plan.Status.Conditions, criticalv2.ConditionStalled)
			g.Expect(stalled.Reason).To(Equal(criticalv2.MaintenanceScheduleInvalid))
			g.Expect(stalled.Message).To(Equal(active.Message))
			g.Expect(plan.RecheckAfter).To(BeNumerically(">", 0), "it may be valid later")
		})
	}
}

func TestTheObjectIsDeletedOnceItsTimeHasPassed(t *testing.T) {
	ended := at(t, "2026-11-22 12:00")
	for sentence, c := range map[string]struct {
		ttl    *int32
		now    time.Time
		delete bool
		after  time.Duration
	}{
		"it stays where no time is set":        {nil, ended.Add(1000 * time.Hour), false, 0},
		"it goes at once where that is 0":      {new(int32(0)), ended, true, 0},
		"it stays when it ends":                {new(int32(600)), ended, false, 10 * time.Minute},
		"it stays a second before its time":    {new(int32(600)), ended.Add(599 * time.Second), false, time.Second},
		"it goes when its time has come":       {new(int32(600)), ended.Add(600 * time.Second), true, 0},
		"it goes where its time passed unseen": {new(int32(600)), ended.Add(time.Hour), true, 0},
	} {
		t.Run(sentence, func(t *testing.T) {
			g := NewWithT(t)
			m := &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{
				Services: []string{"shop"}, Until: new(metav1.NewTime(ended.Add(-time.Hour))), TTLSecondsAfterFinished: c.ttl,
			}}
			m.CreationTimestamp, m.Status.Ended = metav1.NewTime(ended.Add(-2*time.Hour)), new(metav1.NewTime(ended))
			plan := decide.Decide(decide.Snapshot{Now: c.now, Maintenance: m})
			g.Expect(plan.Status.Ended.Time).To(BeTemporally("==", ended), "it counts from when all was over")
			g.Expect(plan.Delete).To(Equal(c.delete))
			g.Expect(plan.RecheckAfter).To(Equal(c.after))
		})
	}
}

// Each write of the status wakes the controller: what it then decides must be what it has
// written, in every state.
func TestADecisionIsAFixedPoint(t *testing.T) {
	now := at(t, "2026-11-22 02:30")
	once := func(until time.Duration) *criticalv2.Maintenance {
		m := owing(now)
		m.Spec.Until = new(metav1.NewTime(now.Add(until)))
		return m
	}
	drill := once(-time.Second)
	drill.Spec.Purpose = criticalv2.PurposeDrill
	for sentence, m := range map[string]*criticalv2.Maintenance{
		"announced": once(time.Hour), "over a moment ago": once(-time.Second), "over long ago": once(-time.Hour), "a drill that is over": drill,
		"a window that runs": recurring("0 2 * * SUN", time.Hour), "a window that is over": recurring("0 1 * * SUN", 85*time.Minute),
		"a window to come": recurring("0 3 * * SUN", time.Hour), "a schedule that is invalid": recurring("0 * * * *", time.Hour),
	} {
		for _, answers := range []bool{true, false} {
			for _, scale := range []int32{0, 3} {
				g := NewWithT(t)
				m, workload := m.DeepCopy(), decide.Workload{Scale: &decide.Scale{Replicas: scale}}
				next := func() decide.Plan {
					s := decide.Snapshot{Now: now, Maintenance: m}
					needs := decide.NeedsOf(m, now)
					if needs.Workload {
						s.Workload = workload
					}
					s.Answers = needs.Answers && answers
					return decide.Decide(s)
				}
				for range 2 { // What was given back, and whether the application answers, may come in two steps.
					m.Status = next().Status
				}
				g.Expect(next().Status).To(Equal(m.Status), "%s; it answers: %v; it has %d", sentence, answers, scale)
			}
		}
	}
}

// What is refused is tried again soon where that is new, and then ever more seldom: no watch
// reports that a permission was granted, and thousands of Maintenances may wait for one.
func TestWhatIsRefusedIsTriedEverMoreSeldom(t *testing.T) {
	now := at(t, "2026-11-22 12:00")
	for age, want := range map[time.Duration]time.Duration{
		0: time.Second, 10 * time.Second: 10 * time.Second, time.Minute: time.Minute, 24 * time.Hour: 10 * time.Minute,
	} {
		m := &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{Services: []string{"shop"}, Restore: &criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3}}}
		m.Status.Conditions = []metav1.Condition{{
			Type: criticalv2.MaintenanceRestored, Status: metav1.ConditionUnknown, Reason: criticalv2.RestoreNotPermitted, LastTransitionTime: metav1.NewTime(now.Add(-age)),
		}}
		plan := decide.Decide(decide.Snapshot{Now: now, Maintenance: m, Workload: decide.Workload{Refused: "no Role"}})
		NewWithT(t).Expect(plan.RecheckAfter).To(Equal(want), "after %s", age)
	}
}

// A permission that is missing is Stalled while it matters: before the end, and while
// something is owed.
func TestAPermissionThatIsMissingIsStalled(t *testing.T) {
	g := NewWithT(t)
	now := at(t, "2026-11-22 12:00")
	m := owing(now)
	owed := m.Status.Owed
	m.Status.Owed = nil
	m.Spec.Until = new(metav1.NewTime(now.Add(time.Hour)))
	after := func(s decide.Snapshot) string {
		s.Maintenance = m
		plan := decide.Decide(s)
		m.Status = plan.Status
		return reasonOf(&plan, criticalv2.ConditionStalled)
	}
	refused := decide.Workload{Refused: "no Role"}
	g.Expect(after(decide.Snapshot{Now: now, Workload: refused})).To(Equal(criticalv2.RestoreNotPermitted))
	g.Expect(after(decide.Snapshot{Now: now, Workload: decide.Workload{Scale: &decide.Scale{Replicas: 3}}})).To(BeEmpty(), "it is permitted now")
	g.Expect(m.Status.Owed).To(Equal(owed))
	over := now.Add(2 * time.Hour)
	g.Expect(after(decide.Snapshot{Now: over, Workload: refused})).To(Equal(criticalv2.RestoreFailed))
	g.Expect(after(decide.Snapshot{Now: over, Workload: decide.Workload{Scale: &decide.Scale{Replicas: 3}}})).To(BeEmpty(), "another user scaled it up")
}

func TestWhatCannotBeGivenBackIsTriedAgainSoon(t *testing.T) {
	g := NewWithT(t)
	now := at(t, "2026-11-22 12:00")
	m := owing(now)
	m.Spec.Until = new(metav1.NewTime(now))
	m.Status.Conditions = []metav1.Condition{{
		Type: criticalv2.MaintenanceRestored, Status: metav1.ConditionFalse, Reason: criticalv2.RestoreOwed, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour)),
	}}
	plan := decide.Decide(decide.Snapshot{Now: now, Maintenance: m, Workload: decide.Workload{Refused: "no Role"}})
	g.Expect(reasonOf(&plan, criticalv2.MaintenanceRestored)).To(Equal(criticalv2.RestoreFailed))
	g.Expect(plan.RecheckAfter).To(Equal(time.Second), "however long it was owed before")
	g.Expect(plan.Finalizer).To(BeTrue())
}

// owing is a Maintenance that owes a Deployment three replicas.
func owing(now time.Time) *criticalv2.Maintenance {
	m := &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{
		Services: []string{"shop"}, Restore: &criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3},
	}}
	m.CreationTimestamp, m.Finalizers = metav1.NewTime(now.Add(-time.Hour)), []string{criticalv2.FinalizerRestore}
	m.Status.Owed = m.Spec.Restore
	return m
}

// A finalizer of others, such as that of a deletion in the foreground, keeps the object.
func TestADeletedMaintenanceGivesBackOnce(t *testing.T) {
	g := NewWithT(t)
	now := at(t, "2026-11-22 12:00")
	m := owing(now)
	m.DeletionTimestamp = new(metav1.NewTime(now))
	refused := decide.Decide(decide.Snapshot{Now: now, Maintenance: m, Workload: decide.Workload{Refused: "a moment only"}})
	g.Expect(refused.Finalizer).To(BeTrue(), "a refusal may pass")
	g.Expect(refused.RecheckAfter).To(BeNumerically(">", 0))
	late := decide.Decide(decide.Snapshot{Now: now.Add(time.Minute), Maintenance: m, Workload: decide.Workload{Refused: "for good"}})
	g.Expect(late.Finalizer).To(BeFalse(), "a namespace that ends cannot wait")
	g.Expect(late.Lost).To(ContainSubstring("kubectl scale"))
	away := decide.Workload{Scale: &decide.Scale{Replicas: 0}}
	g.Expect(decide.NeedsOf(m, now).Workload).To(BeTrue())
	g.Expect(decide.Decide(decide.Snapshot{Now: now, Maintenance: m, Workload: away}).GiveBack).To(Equal(m.Status.Owed))
	m.Finalizers = []string{metav1.FinalizerDeleteDependents}
	g.Expect(decide.NeedsOf(m, now).Workload).To(BeFalse())
	g.Expect(decide.Decide(decide.Snapshot{Now: now, Maintenance: m, Workload: away}).GiveBack).To(BeNil())
}

func TestWhatWasNeverSeenIsNotGivenBack(t *testing.T) {
	g := NewWithT(t)
	now := at(t, "2026-11-22 12:00")
	m := &criticalv2.Maintenance{Spec: criticalv2.MaintenanceSpec{
		Services: []string{"shop"}, Until: new(metav1.NewTime(now)), Restore: &criticalv2.WorkloadReplicas{Deployment: "shop", Replicas: 3},
	}}
	m.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
	g.Expect(decide.NeedsOf(m, now).Workload).To(BeFalse())
	plan := decide.Decide(decide.Snapshot{Now: now, Maintenance: m, Answers: true})
	g.Expect(plan.GiveBack).To(BeNil())
	g.Expect(reasonOf(&plan, criticalv2.MaintenanceRestored)).To(Equal(criticalv2.RestoreNotPermitted))
	g.Expect(meta.FindStatusCondition(plan.Status.Conditions, criticalv2.MaintenanceRestored).Message).To(ContainSubstring("ended before"))
	g.Expect(plan.Status.Ended).NotTo(BeNil())
	g.Expect(reasonOf(&plan, criticalv2.ConditionStalled)).To(BeEmpty(), "of what has ended nothing is waited for")
}
