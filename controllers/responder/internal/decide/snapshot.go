package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/critical-service/operator/internal/contract/listener"
)

// Settings are the operator's settings, the same for every namespace.
type Settings struct {
	// Image of the responder; empty if it is not known.
	Image string
	// ImagePullSecrets are names of Secrets of the responder's namespace.
	ImagePullSecrets []string
	// PriorityClass of the responder's Pods, or empty.
	PriorityClass string
	// MaxReplicas is up to how many Pods a responder scales with its load; 0 is that none
	// scales.
	MaxReplicas int32
}

// Snapshot is all that matters about one namespace, at one moment. Nothing in it
// is changed, and the order of its lists does not matter.
type Snapshot struct {
	Namespace string
	Settings  Settings
	// Now is when the Snapshot was made.
	Now time.Time

	// Slices are the standby slices that ask for a page.
	Slices []discoveryv1.EndpointSlice
	// PodSlices are the standby slices that publish one Pod of the responder each. They
	// ask for nothing.
	PodSlices []discoveryv1.EndpointSlice
	// Services are those that the slices name, so far as they exist.
	Services []corev1.Service
	// Confirmed are the names of Services of which the API server has the same, as far as was found out.
	Confirmed sets.Set[string]
	// Contents are the ConfigMaps with content of the teams, without their data.
	Contents []metav1.PartialObjectMetadata

	// Table, Deployment, Budget and Autoscaler are what the operator keeps; nil if not there.
	Table      *corev1.ConfigMap
	Deployment *appsv1.Deployment
	Budget     *policyv1.PodDisruptionBudget
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Pods are the responder's.
	Pods []corev1.Pod

	// Neighbours are the responders of other namespaces. They are known only once a
	// plan has asked for them (AsksNeighbours).
	Neighbours []Neighbour

	// Answers are, by the UID of an object, the digest of what was last applied
	// and of what the API server made of it (Digest). What it made of it is not
	// applied again: an admission webhook may want it so.
	Answers map[types.UID]string
}

// Plan is what is to be written. An object that is nil is as it must be.
type Plan struct {
	// Remove says that nothing asks for the responder any more.
	Remove bool
	// AsksNeighbours says that the plan depends on the responders of other namespaces.
	AsksNeighbours bool
	// Version is the operator's, of which the Pods are to be.
	Version string
	// NoImage says that the responder cannot be created, as its image is not known.
	NoImage bool

	Table      *corev1.ConfigMap
	Deployment *appsv1.Deployment
	Budget     *policyv1.PodDisruptionBudget
	Autoscaler *autoscalingv2.HorizontalPodAutoscaler
	// Unscaled says that the autoscaler goes, because the responder scales no more.
	Unscaled bool
	// RefreshMounts are Pods whose mounts the kubelet is to refresh.
	RefreshMounts []MountRefresh
	// Published are Pods whose readiness gate opens.
	Published []*corev1.Pod
	// Wait says why the Pods stay those of another version; nil if they do not.
	Wait *Wait
	// Nudge lets the ReplicaSet try again to make Pods; nil if it need not.
	Nudge *Nudge
	// RecheckAfter is when to decide again though nothing changes; zero is never.
	RecheckAfter time.Duration

	// Owners are the CriticalServices that ask for the responder.
	Owners []metav1.OwnerReference
	// Ports are those on which the responder listens.
	Ports listener.Range
	// Listeners is how many of them have something to stand in for.
	Listeners int
	// Unconfirmed are the names of Services that no longer need a listener which they have, sorted. They keep it until they
	// are Confirmed.
	Unconfirmed []string
	// Unassigned are Services of which a port has no listener, because there is
	// none left, sorted by name.
	Unassigned []*corev1.Service
}

// MountRefresh is a change of an annotation of a Pod, on which the kubelet syncs the
// Pod, and with it its mounted ConfigMaps.
type MountRefresh struct{ From, To *corev1.Pod }
