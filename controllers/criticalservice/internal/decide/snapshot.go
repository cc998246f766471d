package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	criticalv2 "github.com/critical-service/operator/api/v2"
	"github.com/critical-service/operator/internal/contract/listener"
	"github.com/critical-service/operator/internal/contract/page"
	"github.com/critical-service/operator/internal/protection"
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
	// Policies are all that may mean the Service.
	Policies []criticalv2.Policy
	// Slices are the EndpointSlices that others keep of the Service.
	Slices []discoveryv1.EndpointSlice
	// Standby are the EndpointSlices that the operator keeps of the Service.
	Standby []discoveryv1.EndpointSlice
	// Pods are the fallback Pods made for the Service.
	Pods []corev1.Pod
	// Silent is the one of them that has answered self-tests, and answers on no port any
	// more; empty if there is none.
	Silent types.UID
	// OtherFallbacks are the fallback Pods made for other Services of the
	// namespace, and of responder Pods. They are endpoints of this one too where
	// selectors overlap.
	OtherFallbacks []*corev1.Pod
	// NameConflict is a Pod that has the fallback's name and is not a fallback.
	// It is looked up only where something hints that it exists.
	NameConflict *corev1.Pod
	// Neighbors are the Services of the namespace whose fallback Pods the Service may
	// select, if its own carries the labels of its selector.
	Neighbors []Neighbor
	// Template is the PodTemplate that Needs names, as it was read last; nil if there is
	// none, or it cannot be used.
	Template *corev1.PodTemplate
	// TemplateTooLarge is true where it is larger than MaxTemplate.
	TemplateTooLarge bool
	// Unread are the PodTemplates, of the Service or of Neighbors, that exist and were
	// not read yet. Until then, what is said of the Service is provisional.
	Unread []types.NamespacedName
	// Content is what is known of the ConfigMap that Needs names.
	Content *Content
	// Responder is that of the namespace.
	Responder Responder
	// Maintenances are those that are about the Service.
	Maintenances []criticalv2.Maintenance
	// Backups are the Services that Needs names, by name.
	Backups map[string]Backup
	// Attempt is what the API server last said of a fallback Pod for the Service.
	Attempt *Attempt
	// Refusal is what blocks the last write of a standby slice; nil if nothing.
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
	// NoPods says why no Pods of PodTemplates can be run; empty where they can.
	NoPods string
	// PodNamePrefix begins the name of every fallback Pod.
	PodNamePrefix string
}

// Templates are the settings that decide which PodTemplate a fallback means.
func (s Settings) Templates() protection.Templates {
	return protection.Templates{Default: s.Template, OperatorNamespace: s.OperatorNamespace}
}

// Responder is what stands in with a page in one namespace.
type Responder struct {
	// Listeners are its ports that stand in for the Service.
	Listeners []listener.Listener
	// Deployment runs the Pods.
	Deployment *appsv1.Deployment
	// Pods are those of the Deployment.
	Pods []corev1.Pod
}

// Content is a team's own content of a page.
type Content struct {
	// Judged is false until it was read for the first time. Until then it counts as
	// valid, and what is said of the Service is provisional.
	Judged bool
	// Problems are those of the version that was read last.
	Problems []page.Problem
}

// Backup is a backup Service.
type Backup struct {
	Service *corev1.Service
	// Slices are the EndpointSlices that others keep of it.
	Slices []discoveryv1.EndpointSlice
}

// Attempt is the API server's last answer to a create of the fallback Pod, be
// it real or a dry run.
type Attempt struct {
	// Hash identifies the Pod that was sent.
	Hash string
	// At is when the answer came.
	At time.Time
	// DryRun is true when nothing was to be stored.
	DryRun bool
	// Reason is one of CreateDenied and NameTaken. It is empty when the Pod was accepted, and when
	// its namespace is being deleted, which is no user's to change.
	Reason string
	// Message is the API server's, and says what to do.
	Message string
	// Refusals is how often in a row the API server has not accepted it.
	Refusals int
}

// Refusal is why a standby slice could not be written.
type Refusal struct {
	// Slice is its name.
	Slice string
	// Reason is CreateDenied or NameTaken.
	Reason string
	// Message says what to do.
	Message string
}

// MaxTemplate is how large a PodTemplate may be, in bytes of JSON: many times what Pods
// have, and so little that many users of a cluster may have one.
const MaxTemplate = 64 << 10

const (
	// dryRunEvery is how old an accepted dry run may be. No watch reports a change of
	// quotas and of admission.
	dryRunEvery = 10 * time.Minute
	// firstRetry is how soon the API server is asked again for what it refused;
	// the time doubles up to lastRetry. No watch reports a change of a
	// quota or an admission policy, and a namespace that is new refuses for a moment only.
	// firstRetry is also when a plan that asks is made again, because the
	// answer comes after the plan.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
	// lastCreateRetry caps it for a Pod that an outage needs.
	lastCreateRetry = 5 * time.Second
	// drainFor is how long a fallback goes on answering after it has left its
	// Service. On a machine that is busy, one change of endpoints in ten takes the
	// slice controller and kube-proxy more than 3 s, and one in a hundred 8 s.
	drainFor = 10 * time.Second
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
