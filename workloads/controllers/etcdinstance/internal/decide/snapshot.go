// Package decide decides what an ETCDInstance needs. It is pure: it reads only the Snapshot it is
// given, and changes nothing.
//
// snapshot.go has what is known and what is done, decide.go the order of the decisions,
// objects.go what is written around the members, members.go which member comes or goes next,
// pods.go which Pod does, and explain.go the list of rules by which Ready and the state say how
// the cluster stands.
package decide

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/critical-service/operator/internal/controller/recheck"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
	"github.com/critical-service/operator/workloads/internal/fallback"
)

// Snapshot is all that matters about one ETCDInstance, at one moment. Objects are those that have
// the names which it needs, also those that another user made; nil where there is none.
type Snapshot struct {
	Now      time.Time
	Instance *workloadsv1alpha1.ETCDInstance
	// Ages say since when its conditions have their reasons.
	Ages recheck.Ages
	// Image is the operator's setting, and SnapshotImage its own image, which has the program that
	// moves snapshots; empty where it is not known.
	Image, SnapshotImage string

	StatefulSet *appsv1.StatefulSet
	Config      *corev1.ConfigMap
	Service     *corev1.Service
	Peers       *corev1.Service
	Budget      *policyv1.PodDisruptionBudget
	// Pods and Claims are those of the members, by the names of the members.
	Pods   map[string]*corev1.Pod
	Claims map[string]*corev1.PersistentVolumeClaim
	// BackupPod and RestorePod move snapshots, BackupClaim has the stored ones, and Origin is the
	// ETCDInstance whose data is restored.
	BackupPod, RestorePod *corev1.Pod
	BackupClaim           *corev1.PersistentVolumeClaim
	Origin                *workloadsv1alpha1.ETCDInstance
	// Secrets are those with certificates, by name; none without TLS.
	Secrets  map[string]Secret
	Fallback fallback.Seen
	// Cluster is what the members said.
	Cluster Cluster
	// Refusal is what the API server did not accept of the last Plan; nil if all was. Untaken is why etcd
	// did not take its Change; empty if it did.
	Refusal *Refusal
	Untaken string
}

// Secret is what is known of a Secret with a certificate.
type Secret struct {
	// Found: there is one. Ours and Earlier say whose it is.
	Found, Ours, Earlier bool
	// Problem says why it cannot be used, and is not made again; only of the authority.
	Problem string
	// RenewAt is when it has to be made again.
	RenewAt time.Time
}

// Cluster is what the members said when they were asked.
type Cluster struct {
	// Members are those that a quorum listed; none without one.
	Members []Member
	// Answers are what single members said, by their names.
	Answers map[string]Answer
	// Alarms that a quorum listed, each as etcd names it with the member that raised it.
	Alarms []Alarm
}

// Member is one in the list of the cluster.
type Member struct {
	// ID in hexadecimal digits.
	ID string
	// Name by the URL where other members reach it.
	Name string
	// Started: it has been up once.
	Started bool
	Learner bool
}

// Answer is what one member said of itself.
type Answer struct {
	ID, ClusterID, Leader string
	Learner               bool
	Version               string
	SizeBytes, Revision   int64
	// Index is how far its log goes, and Applied how much of that is in its data.
	Index, Applied uint64
	// Problems are what it reports of itself.
	Problems []string
}

// Alarm is one that a member raised.
type Alarm struct{ Member, Kind string }

// Refusal is a write that is not accepted until a person changes something.
type Refusal struct {
	Reason, Message string
}

// Plan is what is to be done, in this order.
type Plan struct {
	// Fallback is the change of the ServiceFallback: the Service is born protected.
	Fallback fallback.Change
	// Services and Budget are as they are to be; those that are so are left out.
	Services []*corev1.Service
	Budget   *policyv1.PodDisruptionBudget
	// Certificates are the names of the Secrets that are made, or made again.
	Certificates []string
	// AddFinalizer comes before all else, and RemoveFinalizer after it.
	AddFinalizer, RemoveFinalizer bool
	// Claim and SnapshotPod are made, for a snapshot that is stored or restored. DropPod has done
	// its work, and goes.
	Claim       *corev1.PersistentVolumeClaim
	SnapshotPod *corev1.Pod
	DropPod     *corev1.Pod
	// Config and StatefulSet are as they are to be; nil if they are so.
	Config      *corev1.ConfigMap
	StatefulSet *appsv1.StatefulSet
	// Change is that of the members; nil if none is. There is never more than one.
	Change *Change
	// RemovePod takes a Pod away; nil if none has to go.
	RemovePod *Removal
	// Status is what the status is to say.
	Status workloadsv1alpha1.ETCDInstanceStatus
	// RecheckAfter is when to check again without an event; 0 is never.
	RecheckAfter time.Duration
}

// ChangeKind is what is done to a member.
type ChangeKind string

const (
	// AddLearner lets a member get the data, without a vote.
	AddLearner ChangeKind = "AddLearner"
	// Promote gives a learner that has the data a vote.
	Promote ChangeKind = "Promote"
	// Remove takes a member out of the cluster, for good.
	Remove ChangeKind = "Remove"
	// MoveLeader lets another member lead. It changes no members.
	MoveLeader ChangeKind = "MoveLeader"
)

// Change is one change of the cluster.
type Change struct {
	Kind ChangeKind
	// Name is that of the member. ID is its own; empty for one that is added.
	Name, ID string
	// PeerURL is where a member that is added is reached.
	PeerURL string
}

// Removal takes a Pod away.
type Removal struct {
	Pod *corev1.Pod
	// Force does not wait for the node.
	Force bool
}

// IsEmpty reports whether nothing is to be written but the status.
func (p *Plan) IsEmpty() bool {
	return p.Fallback == fallback.Change{} && len(p.Services) == 0 && p.Budget == nil && len(p.Certificates) == 0 &&
		!p.AddFinalizer && !p.RemoveFinalizer && p.Claim == nil && p.SnapshotPod == nil && p.DropPod == nil &&
		p.Config == nil && p.StatefulSet == nil && p.Change == nil && p.RemovePod == nil
}

// FollowsEntries reports whether something is to be done that depends on what is noted of the members.
func (p *Plan) FollowsEntries() bool {
	return p.Config != nil || p.Budget != nil || p.StatefulSet != nil || p.Change != nil || p.RemovePod != nil
}

// entries are what is noted of the members.
func (s *Snapshot) entries() []render.Entry {
	if noted := s.Noted(); noted != nil {
		return render.Entries(s.Instance, noted)
	}
	return nil
}

// Object is one of the API.
type Object interface {
	metav1.Object
	runtime.Object
}

// Noted is the object that the entries are read from, the ConfigMap or else the StatefulSet: both would have to be deleted for
// them to be lost. It is nil if there are none.
func (s *Snapshot) Noted() Object {
	if s.Config != nil && render.IsOurs(s.Instance, s.Config) && len(render.Entries(s.Instance, s.Config)) > 0 {
		return s.Config
	}
	if s.StatefulSet != nil && render.IsOurs(s.Instance, s.StatefulSet) {
		return s.StatefulSet
	}
	return nil
}
