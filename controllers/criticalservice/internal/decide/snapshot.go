package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
)

// Snapshot is all that is known of one Service at one moment. Lists may be in
// any order; nil means "does not exist".
type Snapshot struct {
	// Now is the time of the observation.
	Now time.Time
	// Settings are the operator's own.
	Settings Settings
	// Service is nil once it is gone.
	Service *corev1.Service
	// NamespaceLabels are those of the Service's namespace.
	NamespaceLabels map[string]string
	// Policies are all the CriticalServices there are.
	Policies []criticalv2.CriticalService
	// Slices are the EndpointSlices that others keep of the Service.
	Slices []discoveryv1.EndpointSlice
	// Standby are the EndpointSlices that the operator keeps of the Service.
	Standby []discoveryv1.EndpointSlice
	// Pods are the fallback Pods made for the Service.
	Pods []corev1.Pod
	// Strangers are the UIDs of fallback Pods made for other Services of the
	// namespace, and of responder Pods. They are endpoints of this one too where
	// selectors overlap.
	Strangers []types.UID
	// Namesake is a Pod that has the fallback's name and is not a fallback.
	// It is looked up only where something hints that it exists.
	Namesake *corev1.Pod
	// Template is the PodTemplate that Needs names.
	Template *corev1.PodTemplate
	// Content is the ConfigMap that Needs names.
	Content *corev1.ConfigMap
	// Responder is that of the namespace.
	Responder Responder
	// Maintenance are the ConfigMaps that announce a maintenance of the Service.
	Maintenance []corev1.ConfigMap
	// Backups are the Services that Needs names, by name.
	Backups map[string]Backup
	// Attempt is what the API server last said of a fallback Pod for the Service.
	Attempt *Attempt
	// Refusal is what hinders the last write of a standby slice; nil if nothing.
	Refusal *Refusal
}

// Settings are the operator's settings that matter to a decision.
type Settings struct {
	// Template names the PodTemplate of fallbacks that name none.
	Template types.NamespacedName
	// OperatorNamespace is where a CriticalService's own PodTemplate is looked for
	// if it names no namespace.
	OperatorNamespace string
	// NoResponder says why there can be no responder; empty where there can.
	NoResponder string
	// PodNamePrefix begins the name of every fallback Pod.
	PodNamePrefix string
}

// Responder is what stands in with a page in one namespace.
type Responder struct {
	// Table says which port stands in for which; nil if there is none yet.
	Table *listener.Table
	// Deployment runs the Pods.
	Deployment *appsv1.Deployment
	// Pods are those of the Deployment.
	Pods []corev1.Pod
}

// Backup is a backup Service.
type Backup struct {
	Service *corev1.Service
	// Slices are the EndpointSlices that others keep of it.
	Slices []discoveryv1.EndpointSlice
}

// Attempt is the API server's last answer to a create of the fallback Pod, be
// it real or a rehearsal (dry run).
type Attempt struct {
	// Hash identifies the Pod that was sent.
	Hash string
	// At is when the answer came.
	At time.Time
	// Rehearsal is true when nothing was to be stored.
	Rehearsal bool
	// Reason is empty when the Pod was accepted; else it is one of
	// CreateDenied and NameTaken.
	Reason string
	// Message is the API server's, and says what to do.
	Message string
	// Refusals is how often in a row the API server has said so.
	Refusals int
}

// Refusal is why a standby slice could not be written.
type Refusal struct {
	// Reason is CreateDenied or NameTaken.
	Reason string
	// Message says what to do.
	Message string
}

const (
	// rehearseEvery is how old an accepted rehearsal may be. Quotas and
	// admission change without telling us.
	rehearseEvery = 10 * time.Minute
	// firstRetry is how soon the API server is asked again for what it refused;
	// the time doubles up to lastRetry. No watch tells of a quota or of an
	// admission policy, and a namespace that is new refuses for a moment only.
	// firstRetry is also when a plan that asks is looked at again, because the
	// answer comes after the plan.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// drainFor is how long a fallback goes on answering after it has left its
	// Service: two syncs of kube-proxy, and the time of the slice controller.
	drainFor = 3 * time.Second
	// stuckAfter is how long a Pod may be overdue before it is deleted without
	// waiting for its node, which is then most likely lost.
	stuckAfter = 30 * time.Second
	// replaceFailedAfter is the least age at which a failed fallback Pod is
	// replaced: a Pod that fails at once must not be made in a loop.
	replaceFailedAfter = 10 * time.Second
	// startWithin is how long a fallback Pod may start before that is called a
	// failure to become ready.
	startWithin = time.Minute
)

// Plan is what is to be done, and what the Service's state is until then.
type Plan struct {
	// Governor is the CriticalService that governs the Service, nil if none.
	Governor *criticalv2.CriticalService
	// State, Reason and Message describe the Service now, before the plan is
	// carried out. They are empty where no CriticalService matches.
	State   criticalv2.ServiceState
	Reason  string
	Message string
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
	// Provisional is true while the state rests on an answer of the API server
	// that this plan is about to ask for.
	Provisional bool

	// Publish lists the standby slices to create or to change, as they must
	// become, where this takes nothing away from anybody.
	Publish []*discoveryv1.EndpointSlice
	// Retract lists the standby slices to change, as they must become, where this
	// takes endpoints away or makes ready ones standby again.
	Retract []*discoveryv1.EndpointSlice
	// Unpublish lists the standby slices to delete.
	Unpublish []*discoveryv1.EndpointSlice
	// Create is the fallback Pod to create.
	Create *corev1.Pod
	// Rehearse is the fallback Pod to send as a dry run.
	Rehearse *corev1.Pod
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
)

// IsEmpty tells whether the plan writes nothing.
func (p *Plan) IsEmpty() bool {
	return len(p.Publish) == 0 && len(p.Retract) == 0 && len(p.Unpublish) == 0 &&
		p.Create == nil && p.Rehearse == nil && len(p.Rebind) == 0 && len(p.Release) == 0 && len(p.Delete) == 0
}
