package decide

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// Decide decides what an ETCDInstance needs. One that is deleted needs nothing, unless a snapshot
// is to be stored first: all that goes with it belongs to it, and what stays does not.
func Decide(s Snapshot) Plan {
	if s.Instance == nil || s.isDeleted() && !s.isKept() {
		return Plan{}
	}
	d := decision{Snapshot: &s, plan: Plan{Status: *s.Instance.Status.DeepCopy()}, entries: s.entries()}
	d.status = &d.plan.Status
	d.status.ObservedGeneration = s.Instance.Generation
	if err := s.Instance.Validate(); err != nil {
		d.invalid = err.Error()
	}
	if s.isDeleted() {
		d.judge()
		d.storeBackup()
		d.keep()
		d.describe()
		d.explain()
		return d.plan
	}
	d.keep()
	d.findConflict()
	d.protect()
	d.expose()
	d.certify()
	d.restore()
	d.judge()
	d.storeBackup()
	d.changeMembers()
	d.run()
	d.replacePods()
	d.describe()
	d.explain()
	return d.plan
}

// decision is a Snapshot and the Plan that grows from it.
type decision struct {
	*Snapshot
	plan   Plan
	status *workloadsv1alpha1.ETCDInstanceStatus
	// entries are what is noted of the members, and then what is to be.
	entries []render.Entry
	// conflict says which object of another stands in the way; empty if none does. Earlier
	// says which one of an earlier ETCDInstance does, for a while.
	conflict, earlier string
	// invalid says which part of the spec nothing can be made of; empty if all is valid.
	invalid string
	// certificateProblem says why there can be no certificates; empty if there can.
	certificateProblem string
	// image is that of the members, and upgradeProblem says why it is not that of the spec.
	image, upgradeProblem string
	// lost are the members whose data is gone, and failing those that do not answer otherwise.
	lost, failing []string
	// hollow says which learner does not come up, whichever is added; empty if all do.
	hollow string
	// doing says what is under way; empty if nothing is.
	doing, doingReason string
}

// isFaulty reports whether nothing can be made of what there is.
func (d *decision) isFaulty() bool {
	return d.invalid != "" || d.conflict != "" || d.earlier != "" || d.certificateProblem != ""
}

// blocked reports whether nothing may be made or changed: what runs goes on running.
func (d *decision) blocked() bool { return d.isFaulty() || d.restores() }

// does says what is under way. The first says enough.
func (d *decision) does(reason, message string) {
	if d.doing == "" {
		d.doing, d.doingReason = message, reason
	}
}

func (d *decision) conditions() condition.List {
	return condition.List{Conditions: &d.status.Conditions, Generation: d.Instance.Generation, Now: metav1.NewTime(d.Now)}
}

// recheckIn checks again after a while, unless something is to be checked before.
func (d *decision) recheckIn(wait time.Duration) {
	d.plan.RecheckAfter = recheck.Earlier(d.plan.RecheckAfter, wait)
}

// steps bounds the looks at the members while they come or go. That one goes, its Pod's readiness reports.
var steps = recheck.Bounds{Shortest: time.Second, Longest: 10 * time.Second}

// lookAgain looks again soon where Ready has its reason only now, and then ever more seldom.
func (d *decision) lookAgain(bounds recheck.Bounds) {
	reason := meta.FindStatusCondition(d.status.Conditions, workloadsv1.ConditionReady).Reason
	d.recheckIn(bounds.After(d.Ages.Of(workloadsv1.ConditionReady, reason, d.Now), d.Instance.UID))
}
