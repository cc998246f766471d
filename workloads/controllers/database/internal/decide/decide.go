// Package decide decides what a Database needs. It is pure: it reads only the Snapshot it is
// given, and changes nothing.
//
// decide.go has the order of the decisions, objects.go what is written around the Pod, pod.go
// when the Pod is made, kept and taken away, trial.go how the next one is tried out,
// explain.go the list of rules by which Ready says how the Database stands, and problems.go
// what a Pod's status says.
package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/database/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Snapshot is all that matters about one Database, at one moment. Objects are those that
// have the names which it needs, also those that another user made; nil where there is none.
type Snapshot struct {
	Now      time.Time
	Database *workloadsv1.Database
	// Ages say since when its conditions have their reasons.
	Ages recheck.Ages
	// Image is the operator's setting for the engine.
	Image string
	Pod   *corev1.Pod
	// Trial is what has the name of a trial of the next Pod.
	Trial    *corev1.Pod
	Service  *corev1.Service
	Claim    *corev1.PersistentVolumeClaim
	Secret   Secret
	Fallback fallback.Seen
	// Refusal is what the API server did not accept of the last Plan; nil if it took all.
	Refusal *Refusal
}

// Secret is what is known of the Secret with the credentials: not what it says.
type Secret struct {
	Found bool
	// Ours reports whether the operator generated it for this Database, or left it for the
	// next. Earlier reports whether it is about to go with a Database of the same name.
	Ours, Earlier bool
	// Engine for which the operator generated it; empty where that is not known.
	Engine string
	// Missing are the keys that it must have and does not.
	Missing []string
}

// Refusal is a write that the API server does not accept until a person changes something.
type Refusal struct {
	Reason, Message string
}

// Plan is what is to be done, in this order.
type Plan struct {
	// Fallback is the change of the ServiceFallback: the Service is born protected.
	Fallback fallback.Change
	// Service is as it is to be; nil if it is so.
	Service *corev1.Service
	// Generate reports whether a password and a Secret with it are made.
	Generate bool
	// CreateClaim is the claim that is missing; nil if none is.
	CreateClaim *corev1.PersistentVolumeClaim
	// ChangeClaim are the changes of the claim, each by itself: one may be refused.
	ChangeClaim []Change[*corev1.PersistentVolumeClaim]
	// NoteImage notes on the claim which image the Pod that goes had; nil where that is noted.
	// Without the note it does not go.
	NoteImage *Change[*corev1.PersistentVolumeClaim]
	// CreatePod is the Pod that is missing; nil if none is.
	CreatePod *corev1.Pod
	// ChangePod gives the Pod back its labels and its owner; nil if it has them.
	ChangePod *Change[*corev1.Pod]
	// RemovePod takes a Pod away; nil if none has to go.
	RemovePod *Removal
	// CreateTrial tries the next Pod out; nil if none is to be, or is already.
	CreateTrial *Trial
	// RemoveTrial takes a trial away; nil if none has to go.
	RemoveTrial *Removal
	// Status is what the status is to say.
	Status workloadsv1.DatabaseStatus
	// RecheckAfter is when to check again without an event; 0 is never.
	RecheckAfter time.Duration
}

// Change is an object as it is, and as it is to be.
type Change[T any] struct {
	From, To T
	// What says what changes, and Remedy what to do where that is refused, but by a quota.
	What, Remedy string
}

// Removal takes a Pod away.
type Removal struct {
	Pod *corev1.Pod
	// Successor must be acceptable to the API server first; nil where none follows, or what
	// is taken away does not run.
	Successor *corev1.Pod
	// Force does not wait for the node.
	Force bool
}

// Trial is a Pod that tries the next one out.
type Trial struct {
	Pod *corev1.Pod
	// Successor must be acceptable to the API server first.
	Successor *corev1.Pod
}

// IsEmpty reports whether nothing is to be written but the status.
func (p *Plan) IsEmpty() bool {
	return p.Fallback == fallback.Change{} && p.Service == nil && !p.Generate && p.CreateClaim == nil && len(p.ChangeClaim) == 0 &&
		p.NoteImage == nil && p.ChangePod == nil && !p.ChangesPods()
}

// ChangesPods reports whether a Pod is made or taken away.
func (p *Plan) ChangesPods() bool {
	return p.CreatePod != nil || p.RemovePod != nil || p.CreateTrial != nil || p.RemoveTrial != nil
}

// Decide decides what a Database needs. One that is deleted needs nothing: all that goes
// with it belongs to it, and what stays does not.
func Decide(s Snapshot) Plan {
	if s.Database == nil || s.Database.DeletionTimestamp != nil {
		return Plan{}
	}
	d := decision{Snapshot: &s, plan: Plan{Status: *s.Database.Status.DeepCopy()}}
	d.status = &d.plan.Status
	d.status.ObservedGeneration = s.Database.Generation
	if err := s.Database.Validate(); err != nil {
		d.invalid = err.Error()
	}
	d.findConflict()
	d.protect()
	d.expose()
	d.store()
	d.run()
	d.noteImage()
	d.describe()
	d.explain()
	return d.plan
}

// decision is a Snapshot and the Plan that grows from it.
type decision struct {
	*Snapshot
	plan   Plan
	status *workloadsv1.DatabaseStatus
	// conflict says which object of another stands in the way; empty if none does. Earlier
	// says which one of an earlier Database does, for a while.
	conflict, earlier string
	// invalid says which part of the spec nothing can be made of; empty if all is valid.
	invalid string
	// secretProblem says why there are no credentials; empty if there are, or will be.
	secretProblem string
	// trial tries the next Pod out, or is about to; nil if nothing does.
	trial *corev1.Pod
}

// blocked reports whether no Pod may be made or replaced: what runs goes on running.
func (d *decision) blocked() bool {
	return d.invalid != "" || d.conflict != "" || d.earlier != "" || d.secretProblem != "" || d.losesData()
}

// losesData reports whether the claim is being deleted: it goes, with the data, once no Pod
// uses it.
func (d *decision) losesData() bool { return d.Claim != nil && d.Claim.DeletionTimestamp != nil }

// ours is the Database's own Pod; nil if there is none.
func (s *Snapshot) ours() *corev1.Pod {
	if s.Pod == nil || !render.IsOurs(s.Database, s.Pod) {
		return nil
	}
	return s.Pod
}

func (d *decision) conditions() condition.List {
	return condition.List{Conditions: &d.status.Conditions, Generation: d.Database.Generation, Now: metav1.NewTime(d.Now)}
}

// recheckIn checks again after a while, unless something is to be checked before.
func (d *decision) recheckIn(wait time.Duration) {
	d.plan.RecheckAfter = recheck.Earlier(d.plan.RecheckAfter, wait)
}

// lookAgain looks again soon where a condition has its reason only now, and then ever more
// seldom.
func (d *decision) lookAgain(conditionType string) {
	reason := meta.FindStatusCondition(d.status.Conditions, conditionType).Reason
	d.recheckIn(recheck.Unwatched.After(d.Ages.Of(conditionType, reason, d.Now), d.Database.UID))
}
