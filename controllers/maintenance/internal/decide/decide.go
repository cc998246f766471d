package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	"github.com/critical-service/operator/internal/protection"
)

// Snapshot is all that matters about one maintenance, at one moment.
type Snapshot struct {
	Now time.Time
	// Maintenance is the object; nil if it is gone.
	Maintenance *criticalv2.Maintenance
	// Operator is the name by which the API server knows the operator.
	Operator string
	// Answers reports whether all Services have a ready endpoint of their own. It is read
	// only if NeedsOf says so.
	Answers bool
	// Workload is what is owed something, or will be. It is read only if NeedsOf says so.
	Workload Workload
}

// Workload is what was seen of a workload that is to be restored.
type Workload struct {
	// Refused says why the operator may not restore it; empty where it may.
	Refused string
	// Scale is what it has now; nil where there is no such workload.
	Scale *Scale
}

// Scale is how many replicas a workload is to have.
type Scale struct {
	Replicas int32
	// Version is the resource version by which it was read.
	Version string
}

// Needs is what has to be read of the API server beside the object itself.
type Needs struct {
	Answers, Workload bool
}

// NeedsOf says what a decision needs: the endpoints at the end, and the workload before
// it is taken away, to see what it has, and at the end.
func NeedsOf(m *criticalv2.Maintenance, now time.Time) Needs {
	ends := m.DeletionTimestamp != nil || m.IsOver(now)
	owes := m.Status.Owed != nil && (m.DeletionTimestamp == nil || hasFinalizer(m))
	return Needs{
		Answers:  m.IsOver(now) && !m.IsExpired(now) && m.Status.Ended == nil,
		Workload: owes && ends || !owes && !ends && m.Spec.Restore != nil && !isSettled(m),
	}
}

// isSettled reports whether nothing is owed any more.
func isSettled(m *criticalv2.Maintenance) bool {
	return meta.IsStatusConditionTrue(m.Status.Conditions, criticalv2.MaintenanceRestored)
}

// Plan is what is to be done.
type Plan struct {
	// Status is what the status is to say once the rest is done.
	Status criticalv2.MaintenanceStatus
	// GiveBack is what gets its replicas back; nil if nothing does.
	GiveBack *criticalv2.WorkloadReplicas
	// Finalizer reports whether the object is to be kept until something is given back.
	Finalizer bool
	// Lost says why a Maintenance that is deleted goes without giving back what it owes,
	// and what to do.
	Lost string
	// Delete deletes the object.
	Delete bool
	// RecheckAfter is when to check again without an event; 0 is never.
	RecheckAfter time.Duration
}

// Decide decides how a maintenance goes on. What the workload has is recorded before it is
// taken away; at the end it gets that back, and the announcement stays until the
// application answers, or for criticalv2.MaintenanceGrace at the most.
func Decide(s Snapshot) Plan {
	m := s.Maintenance
	switch {
	case m == nil:
		return Plan{}
	case m.DeletionTimestamp != nil:
		return s.release()
	}
	d := decision{Snapshot: &s, plan: Plan{Status: *m.Status.DeepCopy()}}
	d.status = &d.plan.Status
	d.status.ObservedGeneration, d.status.Operator = m.Generation, cmp.Or(s.Operator, d.status.Operator)
	w, err := windowOf(m, s.Now)
	if err != nil {
		d.status.Since, d.status.Until, d.status.Next, d.status.Ended = nil, nil, nil, nil
		d.conditions().Set(criticalv2.MaintenanceActive, false, criticalv2.MaintenanceScheduleInvalid, err.Error()+".")
		// Windows may overlap in the night in which clocks change only.
		d.recheckAt(d.Now.Add(longestRetry))
		d.stall()
		return d.plan
	}
	d.follow(&w)
	d.restore(&w)
	d.announce(&w)
	d.end()
	d.stall()
	d.plan.Finalizer = d.status.Owed != nil
	return d.plan
}

// patience is how long a Maintenance that is deleted is kept while it is refused to give
// back what it owes: a refusal may pass, and a namespace that ends cannot wait.
const patience = 10 * time.Second

// release plans the end of a Maintenance that is deleted: it gives back what it owes. Where
// that is refused it goes all the same, after a while.
func (s *Snapshot) release() Plan {
	owed, seen := s.Maintenance.Status.Owed, s.Workload
	switch {
	case owed == nil || !hasFinalizer(s.Maintenance): // It was given back, and others keep the object.
		return Plan{}
	case seen.Refused != "" && s.Now.Before(s.Maintenance.DeletionTimestamp.Add(patience)):
		return Plan{Finalizer: true, RecheckAfter: shortestRetry}
	case seen.Refused != "":
		return Plan{Lost: Unrestored(s.Maintenance, seen.Refused)}
	case seen.Scale != nil && seen.Scale.Replicas == 0:
		return Plan{GiveBack: owed}
	default:
		return Plan{}
	}
}

// decision is a Snapshot and the Plan that grows from it.
type decision struct {
	*Snapshot
	plan   Plan
	status *criticalv2.MaintenanceStatus
}

func (d *decision) conditions() condition.List {
	return condition.List{Conditions: &d.status.Conditions, Generation: d.Maintenance.Generation, Now: metav1.NewTime(d.Now)}
}

// follow records the window. One that was over long ago stays recorded until the next.
func (d *decision) follow(w *window) {
	changed := d.Maintenance.Status.ObservedGeneration != d.Maintenance.Generation
	if !w.since.IsZero() || changed {
		d.status.Since, d.status.Until = timeOf(w.since), timeOf(w.until)
	}
	d.status.Next = timeOf(w.next)
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return new(metav1.NewTime(t.UTC().Truncate(time.Second)))
}

// announce says whether clients see the maintenance, and when that changes.
func (d *decision) announce(w *window) {
	set := func(is bool, reason, message string) {
		d.conditions().Set(criticalv2.MaintenanceActive, is, reason, message)
	}
	drill := d.Maintenance.IsDrill()
	switch {
	case w.since.IsZero():
		d.recheckAt(w.next)
		set(false, criticalv2.MaintenanceScheduled, "The next window begins at "+text(w.next)+".")
	case !w.isOver(d.Now):
		d.recheckAt(w.until)
		if drill {
			set(true, criticalv2.MaintenanceDrill, "A live drill is under way"+ending(w)+"; nothing is announced to clients.")
			return
		}
		set(true, criticalv2.MaintenanceAnnounced, "A maintenance is announced"+ending(w)+".")
	case !drill && d.status.Ended == nil && !d.Answers && !w.isExpired(d.Now):
		d.recheckAt(w.until.Add(criticalv2.MaintenanceGrace))
		d.recheckAt(w.next)
		set(true, criticalv2.MaintenanceAwaitingApplication, "The maintenance was announced"+ending(w)+"; the page stays until the application answers, for "+
			criticalv2.MaintenanceGrace.String()+" at the most.")
	case !w.next.IsZero():
		d.recheckAt(w.next)
		set(false, criticalv2.MaintenanceScheduled, "The next window begins at "+text(w.next)+".")
	default:
		set(false, criticalv2.MaintenanceEnded, "The maintenance ended at "+text(w.until)+".")
	}
}

func ending(w *window) string {
	if w.until.IsZero() {
		return ""
	}
	return " until " + text(w.until)
}

func text(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// end records when all of it was over, and deletes the object when its time has come.
func (d *decision) end() {
	active := meta.FindStatusCondition(d.status.Conditions, criticalv2.MaintenanceActive)
	if active.Reason != criticalv2.MaintenanceEnded || d.status.Owed != nil {
		d.status.Ended = nil
		return
	}
	if d.status.Ended == nil {
		d.status.Ended = timeOf(d.Now)
	}
	if ttl := d.Maintenance.Spec.TTLSecondsAfterFinished; ttl != nil {
		at := d.status.Ended.Add(time.Duration(*ttl) * time.Second)
		d.plan.Delete = !d.Now.Before(at)
		d.recheckAt(at)
	}
}

// stall says what no waiting ends. Of a Maintenance that has ended nothing is waited for.
func (d *decision) stall() {
	for _, kind := range []string{criticalv2.MaintenanceActive, criticalv2.MaintenanceRestored} {
		found := meta.FindStatusCondition(d.status.Conditions, kind)
		if d.status.Ended == nil && found != nil && protection.NeedsChange(found.Reason) {
			d.conditions().Set(criticalv2.ConditionStalled, true, found.Reason, found.Message)
			return
		}
	}
	d.conditions().Remove(criticalv2.ConditionStalled)
}

// recheckAt checks again at a time, unless something is to be checked before.
func (d *decision) recheckAt(at time.Time) {
	if !at.IsZero() {
		d.plan.RecheckAfter = recheck.Earlier(d.plan.RecheckAfter, at.Sub(d.Now))
	}
}

// restore records what the workload is owed while it has it, and gives that back at the
// end. A workload that has nothing when it is first seen is owed nothing: what was never
// seen is not known to have been taken.
func (d *decision) restore(w *window) {
	m := d.Maintenance
	over := w.isOver(d.Now)
	switch {
	case m.Spec.Restore == nil || isSettled(m):
	case d.status.Owed != nil && over:
		d.giveBack(w.until)
	case d.status.Owed != nil:
		d.owe()
	case d.status.Owed == nil && !over:
		d.record()
	case d.status.Owed == nil:
		d.conditions().SetUnknown(criticalv2.MaintenanceRestored, criticalv2.RestoreNotPermitted,
			fmt.Sprintf("The maintenance ended before the operator was permitted to see %s, so that it gives nothing back.", m.Spec.Restore))
	}
}

func (d *decision) record() {
	wanted, seen := d.Maintenance.Spec.Restore, d.Workload.Scale
	switch {
	case d.Workload.Refused != "":
		d.conditions().SetUnknown(criticalv2.MaintenanceRestored, criticalv2.RestoreNotPermitted,
			fmt.Sprintf("The operator is not permitted to restore %s: %s. Once it is, it records what the workload has; before that, it gives nothing back.", wanted, d.Workload.Refused))
		d.retry(meta.FindStatusCondition(d.status.Conditions, criticalv2.MaintenanceRestored).LastTransitionTime.Time)
	case seen == nil:
		d.conditions().Set(criticalv2.MaintenanceRestored, true, criticalv2.RestoreNothingTaken, fmt.Sprintf("There is no %s.", wanted))
	case seen.Replicas == 0:
		d.conditions().Set(criticalv2.MaintenanceRestored, true, criticalv2.RestoreNothingTaken,
			fmt.Sprintf("%s had no replicas when the operator saw it first, and gets none.", wanted))
	default:
		d.status.Owed = wanted.DeepCopy()
		d.status.Owed.Replicas = min(wanted.Replicas, seen.Replicas)
		d.owe()
	}
}

func (d *decision) owe() {
	owed := d.status.Owed
	d.conditions().Set(criticalv2.MaintenanceRestored, false, criticalv2.RestoreOwed,
		fmt.Sprintf("At the end %s gets its %d replicas back, if it has none then.", owed, owed.Replicas))
}

func (d *decision) giveBack(since time.Time) {
	owed := d.status.Owed
	if d.Workload.Refused != "" {
		d.conditions().Set(criticalv2.MaintenanceRestored, false, criticalv2.RestoreFailed, Unrestored(d.Maintenance, d.Workload.Refused))
		d.retry(since)
		return
	}
	message := fmt.Sprintf("%s has its %d replicas back.", owed, owed.Replicas)
	switch {
	case d.Workload.Scale == nil:
		message = fmt.Sprintf("%s is gone.", owed)
	case d.Workload.Scale.Replicas > 0:
		message = fmt.Sprintf("%s had %d replicas at the end already.", owed, d.Workload.Scale.Replicas)
	default:
		d.plan.GiveBack = owed
	}
	d.status.Owed, d.status.Restored = nil, owed
	d.conditions().Set(criticalv2.MaintenanceRestored, true, criticalv2.RestoreDone, message)
}

// Failed is the plan where giving back what is owed was refused.
func Failed(s Snapshot, why error) Plan {
	s.Workload = Workload{Refused: fmt.Sprintf("%.500s", why.Error())}
	return Decide(s)
}

// Unrestored says what to do about a workload that the operator may not restore.
func Unrestored(m *criticalv2.Maintenance, why string) string {
	owed := m.Status.Owed
	return fmt.Sprintf("%s could not be given its %d replicas back: %s. `kubectl scale -n %s %s --replicas=%d` does it.",
		owed, owed.Replicas, why, m.Namespace, owed, owed.Replicas)
}

// The first and the longest time between two tries of what was refused: no watch reports
// that a permission was granted.
const shortestRetry, longestRetry = time.Second, 10 * time.Minute

// retry tries again what is refused since some time: soon where that is new, and then ever
// more seldom.
func (d *decision) retry(since time.Time) {
	d.recheckAt(d.Now.Add(min(max(d.Now.Sub(since), shortestRetry), longestRetry)))
}

// hasFinalizer reports whether the object is kept until something is given back.
func hasFinalizer(m *criticalv2.Maintenance) bool {
	return slices.Contains(m.Finalizers, criticalv2.FinalizerRestore)
}
