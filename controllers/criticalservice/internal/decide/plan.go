package decide

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	criticalv2 "github.com/critical-service/operator/api/v2"
)

// Plan is what is to be done, and what the Service's state is until then.
type Plan struct {
	// Governor is the policy that governs the Service, nil if none.
	Governor criticalv2.Policy
	// State, Reason and Message describe the Service now, before the plan is carried
	// out. They are empty where no policy matches.
	State   criticalv2.ServiceState
	Reason  string
	Message string
	// Provisional is true while the state rests on an answer of the API server
	// that this plan is about to ask for, or on content that was not read yet.
	Provisional bool
	// OwnReady is how many ready endpoints of its own the Service has.
	OwnReady int
	// Fallback is the member of spec.fallback that stands in for the Service: the one
	// that is wanted, or the page that stands in for it. It is empty where none can.
	Fallback string
	// Maintenance is the one that is announced for the Service now, whatever the reason
	// of its state is; nil if none is.
	Maintenance *criticalv2.Maintenance
	// Drill is the live drill that is under way; nil if there is none.
	Drill *criticalv2.Maintenance

	// Publish lists the standby slices to create or to change, as they must become,
	// where this takes no endpoint away: promotion and demotion are among them.
	Publish []*discoveryv1.EndpointSlice
	// Retract lists the standby slices to change, as they must become, where this
	// takes endpoints away.
	Retract []*discoveryv1.EndpointSlice
	// Unpublish lists the standby slices to delete.
	Unpublish []*discoveryv1.EndpointSlice
	// Create is the fallback Pod to create.
	Create *corev1.Pod
	// DryRun is the fallback Pod to send as a dry run.
	DryRun *corev1.Pod
	// Rebind lists the Pods whose labels, annotations or owner must change, as
	// they must become.
	Rebind []*corev1.Pod
	// Release lists the Pods that leave their Service before they are deleted, as
	// they must become.
	Release []Removal
	// Delete lists the fallback Pods to delete.
	Delete []Removal
	// RecheckAfter is when to look again though nothing tells; 0 is never.
	RecheckAfter time.Duration
}

// Removal is a fallback Pod that is to go, and why.
type Removal struct {
	Pod *corev1.Pod
	Why Why
}

// Why is why a fallback Pod goes; it is also the word for logs.
type Why string

const (
	// WhyRecovered: the Service has a ready endpoint of its own.
	WhyRecovered Why = "Recovered"
	// WhyUnprotected: no CriticalService asks for the fallback any more, or the
	// Service is gone or cannot be protected.
	WhyUnprotected Why = "Unprotected"
	// WhySurplus: another fallback Pod of the Service stays.
	WhySurplus Why = "Surplus"
	// WhySuperseded: another kind of fallback answers instead.
	WhySuperseded Why = "Superseded"
	// WhyFailed: the Pod ended and will not start again.
	WhyFailed Why = "Failed"
	// WhyStuck: the Pod should have ended long ago; its node does not say that it
	// has, and the next fallback needs its name.
	WhyStuck Why = "Stuck"
	// WhyOutdated: the Pod is not ready, and the template has changed since.
	WhyOutdated Why = "Outdated"
	// WhyRenewed: the Service answers by itself, and the template has changed since
	// its standby Pod was made.
	WhyRenewed Why = "Renewed"
	// WhySilent: the Service answers by itself, and its standby Pod, which is ready, has
	// ceased to answer the self-test.
	WhySilent Why = "Silent"
)

// IsEmpty reports whether the plan writes nothing.
func (p *Plan) IsEmpty() bool { return len(p.Publish) == 0 && !p.NeedsProvision() }

// NeedsProvision reports whether the plan does anything besides publishing.
func (p *Plan) NeedsProvision() bool {
	return len(p.Retract)+len(p.Unpublish)+len(p.Rebind)+len(p.Release)+len(p.Delete) > 0 || p.Create != nil || p.DryRun != nil
}

// standing is how a Service stands.
type standing struct {
	state           criticalv2.ServiceState
	reason, message string
	provisional     bool
}

// recheck is when to observe again though no watch reports anything; 0 is never.
type recheck struct{ after time.Duration }

// in sets the time, unless an earlier one is set.
func (r *recheck) in(after time.Duration) {
	if after > 0 && (r.after <= 0 || after < r.after) {
		r.after = after
	}
}
