// Package decide decides what a WebApp needs. It is pure: it reads only the Snapshot it is given,
// and changes nothing.
//
// decide.go has the order of the decisions, objects.go what is written, scaling.go how many Pods
// there are to be, and explain.go the rules by which the conditions say how the WebApp stands.
package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/critical-service/operator/internal/controller/condition"
	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	"github.com/critical-service/operator/workloads/controllers/webapp/internal/scale"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Snapshot is all that matters about one WebApp, at one moment. Objects are those that have the
// names which it needs, also those that another user made; nil where there is none.
type Snapshot struct {
	Now    time.Time
	WebApp *workloadsv1.WebApp
	// Ages say since when its conditions have their reasons.
	Ages recheck.Ages
	// MeterImage is the operator's own image.
	MeterImage string
	Deployment *appsv1.Deployment
	Service    *corev1.Service
	Budget     *policyv1.PodDisruptionBudget
	Database   *workloadsv1.Database
	// Config is the ConfigMap of the AppConfig that spec.configName names; empty if there is none
	// yet.
	Config string
	// Pods are those of the Deployment.
	Pods []*corev1.Pod
	// Autoscaler is another's that targets the Deployment or the WebApp.
	Autoscaler Autoscaler
	Fallback   fallback.Seen
	// Reading and Memory are what is known of the traffic.
	Reading scale.Reading
	Memory  scale.Memory
	// Refusals are what the API server did not accept of the last Plan, by what it was about.
	Refusals map[Subject]Refusal
}

// Autoscaler is a HorizontalPodAutoscaler; the zero value is none.
type Autoscaler struct {
	Name string
	// OfDeployment is that it targets the Deployment. Otherwise it writes spec.replicas.
	OfDeployment bool
}

// Subject is what a write is about, so far as it is refused by itself.
type Subject string

const (
	// OfApplication is what runs the application.
	OfApplication Subject = "application"
	// OfDatabase is its database.
	OfDatabase Subject = "database"
	// OfScale is how many Pods there are.
	OfScale Subject = "scale"
)

// Refusal is a write that the API server does not accept until a person changes something.
type Refusal struct{ Message string }

// Plan is what is to be done, in this order.
type Plan struct {
	// Fallback is the change of the ServiceFallback: the Service is born protected.
	Fallback fallback.Change
	// Service, Database, Deployment and Budget are as they are to be; nil if they are so.
	Service    *corev1.Service
	Database   *workloadsv1.Database
	Deployment *appsv1.Deployment
	Budget     *policyv1.PodDisruptionBudget
	// RemoveBudget is one that is not needed any more.
	RemoveBudget *policyv1.PodDisruptionBudget
	// Scale is how many Pods there are to be; nil where there are as many.
	Scale *int32
	// Follow reports whether the traffic matters.
	Follow bool
	// Memory is what matters of the past from now on.
	Memory scale.Memory
	// Status is what the status is to say.
	Status workloadsv1.WebAppStatus
	// RecheckAfter is when to check again without an event; 0 is never.
	RecheckAfter time.Duration
}

// IsEmpty reports whether nothing is to be written but the status.
func (p *Plan) IsEmpty() bool {
	return p.Fallback == fallback.Change{} && p.Service == nil && p.Database == nil && p.Deployment == nil && p.Budget == nil &&
		p.RemoveBudget == nil && p.Scale == nil
}

// Decide decides what a WebApp needs. One that is deleted needs nothing: all that goes with it
// belongs to it, and the data of its database does not.
func Decide(s Snapshot) Plan {
	if s.WebApp == nil || s.WebApp.DeletionTimestamp != nil {
		return Plan{}
	}
	d := decision{Snapshot: &s, plan: Plan{Status: *s.WebApp.Status.DeepCopy()}}
	d.status = &d.plan.Status
	d.status.ObservedGeneration = s.WebApp.Generation
	if err := s.WebApp.Validate(); err != nil {
		d.invalid = err.Error()
	}
	d.findConflict()
	d.protect()
	d.expose()
	d.store()
	d.run()
	d.scale()
	d.budget()
	d.describe()
	d.explain()
	return d.plan
}

// decision is a Snapshot and the Plan that grows from it.
type decision struct {
	*Snapshot
	plan   Plan
	status *workloadsv1.WebAppStatus
	// conflict says which object of another stands in the way; empty if none does. Earlier says
	// which one of an earlier WebApp does, for a while.
	conflict, earlier string
	// invalid says which part of the spec nothing can be made of; empty if all is valid.
	invalid string
	// desired is how many Pods there are to be.
	desired int32
	// known reports whether the traffic is.
	known bool
}

// blocked reports whether nothing may be made or changed: what runs goes on running.
func (d *decision) blocked() bool { return d.invalid != "" || d.conflict != "" || d.earlier != "" }

// lacksConfig reports whether settings are wanted that are not there yet.
func (d *decision) lacksConfig() bool { return d.WebApp.Spec.ConfigName != "" && d.Config == "" }

// lacksMeter reports whether Pods are to have a meter whose image is not known.
func (d *decision) lacksMeter() bool { return d.WebApp.IsMetered() && d.MeterImage == "" }

func (d *decision) conditions() condition.List {
	return condition.List{Conditions: &d.status.Conditions, Generation: d.WebApp.Generation, Now: metav1.NewTime(d.Now)}
}

// recheckIn checks again after a while, unless something is to be checked before.
func (d *decision) recheckIn(wait time.Duration) {
	d.plan.RecheckAfter = recheck.Earlier(d.plan.RecheckAfter, wait)
}

// lookAgain looks again soon where a condition has its reason only now, and then ever more seldom.
func (d *decision) lookAgain(conditionType string) {
	reason := meta.FindStatusCondition(d.status.Conditions, conditionType).Reason
	d.recheckIn(recheck.Unwatched.After(d.Ages.Of(conditionType, reason, d.Now), d.WebApp.UID))
}
