package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/critical-service/operator/internal/controller/drift"
	workloadsv1 "github.com/critical-service/operator/workloads/api/v1"
	workloadsv1alpha1 "github.com/critical-service/operator/workloads/api/v1alpha1"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/etcd"
	"github.com/critical-service/operator/workloads/controllers/etcdinstance/internal/render"
)

// run keeps the configuration of the members, and as many Pods as there are members.
func (d *decision) run() {
	d.chooseImage()
	if d.blocked() || len(d.entries) == 0 {
		return
	}
	config := render.Config(d.Instance, d.entries)
	if d.Config == nil || d.Config.DeletionTimestamp == nil && !drift.Covers(d.Config, config) {
		if d.Config != nil {
			// What was noted since then is not written over.
			config.ResourceVersion = d.Config.ResourceVersion
		}
		d.plan.Config = config
	}
	replicas := int32(0)
	for i := range d.entries {
		replicas = max(replicas, int32(d.entries[i].Ordinal(d.Instance))+1) //nolint:gosec // At most nine.
	}
	set := render.StatefulSet(d.Instance, d.entries, replicas, d.image)
	if d.StatefulSet == nil || d.StatefulSet.DeletionTimestamp == nil && !drift.Covers(d.StatefulSet, set) {
		d.plan.StatefulSet = set
	}
}

// chooseImage is what the spec says, else what runs, else the setting. etcd cannot go from each
// version to each.
func (d *decision) chooseImage() {
	runs := render.ImageOf(d.StatefulSet)
	d.image = cmp.Or(d.Instance.Spec.Image, runs, d.Image)
	if runs == "" || runs == d.image {
		return
	}
	from, isKnown := etcd.Parse(d.lowestVersion())
	if !isKnown {
		from, isKnown = etcd.OfImage(runs)
	}
	to, isNamed := etcd.OfImage(d.image)
	if !isKnown || !isNamed {
		return
	}
	d.upgradeProblem = cmp.Or(etcd.CheckUpgrade(from, to), d.mayBeBehind(runs, to))
	if d.upgradeProblem != "" {
		d.image = runs
	}
}

// mayBeBehind says which member does not say its version while the cluster is to go on to another minor
// version: it may not have come as far as the others, and would skip one. It is empty if none is.
func (d *decision) mayBeBehind(runs string, to etcd.Version) string {
	at, isNamed := etcd.OfImage(runs)
	if isNamed && (to.Major < at.Major || to.Major == at.Major && to.Minor <= at.Minor) {
		return ""
	}
	for i := range d.entries {
		entry := &d.entries[i]
		if _, isKnown := etcd.Parse(d.Cluster.Answers[entry.Name].Version); isKnown || entry.Volume == "" {
			continue // What has no data yet begins with any version.
		}
		return fmt.Sprintf("Member %s does not answer, and may run an earlier version of etcd than the others, so that spec.image %s waits: "+
			"bring the member back first, or set spec.image to a version %d.%d.", entry.Name, to, at.Major, at.Minor)
	}
	return ""
}

// lowestVersion is that of the members that answer; what was noted last where none does.
func (s *Snapshot) lowestVersion() string {
	lowest := ""
	for _, answer := range s.Cluster.Answers {
		version, isKnown := etcd.Parse(answer.Version)
		if before, isSet := etcd.Parse(lowest); isKnown && (!isSet || version.Less(before)) {
			lowest = version.String()
		}
	}
	return cmp.Or(lowest, s.Instance.Status.Version)
}

// nodeMargin is how long after its time a Pod that is ending may still be there before its node
// counts as lost.
const nodeMargin = 30 * time.Second

// replacePods takes at most one Pod away: one that was made for an earlier member of its name, or
// whose node is lost, or that the spec changes.
func (d *decision) replacePods() {
	if d.blocked() || d.plan.Config != nil || d.plan.StatefulSet != nil || d.plan.Change != nil {
		return
	}
	for i := range d.entries {
		entry := &d.entries[i]
		pod := d.Pods[entry.Name]
		switch {
		case pod == nil:
		case pod.DeletionTimestamp != nil:
			d.end(pod)
		case entry.Replaces != pod.UID, !d.hasQuorum(), len(d.Cluster.Alarms) > 0, d.hasStarted(entry):
		case d.mayBeStarting(pod):
			d.recheckIn(steps.Shortest)
		default:
			d.plan.RemovePod = &Removal{Pod: pod}
		}
		if d.plan.RemovePod != nil {
			return
		}
	}
	d.roll()
}

// hasStarted reports whether a member has been up, in whichever Pod: its data must not go with that.
func (d *decision) hasStarted(entry *render.Entry) bool {
	member := d.listed(entry.ID)
	return member != nil && member.Started
}

// startPatience is how long etcd may take from its start until it answers, or ends.
const startPatience = 15 * time.Second

// mayBeStarting reports whether etcd has just started in a Pod. It may have read the file of a later member
// of its name, and get the data: what the leader has sent, it does not send again.
func (d *decision) mayBeStarting(pod *corev1.Pod) bool {
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		if status.Name == etcd.Container && status.State.Running != nil {
			return d.Now.Sub(status.State.Running.StartedAt.Time) < startPatience
		}
	}
	return false
}

// end forces a Pod away that should have ended, if its node does not answer. One with a volume is
// never forced: it may still write, and the next one would write as well.
func (d *decision) end(pod *corev1.Pod) {
	left := pod.DeletionTimestamp.Add(nodeMargin).Sub(d.Now)
	switch {
	case left > 0:
		d.recheckIn(left)
	case d.hasQuorum() && d.Instance.Spec.Storage == nil && len(pod.Finalizers) == 0:
		d.plan.RemovePod = &Removal{Pod: pod, Force: true}
	}
}

// roll replaces the Pods that the spec changes, one by one, while all members are healthy: the
// leader last, and not before another leads.
func (d *decision) roll() {
	voters := d.voters()
	outdated := slices.DeleteFunc(slices.Clone(voters), func(member Member) bool {
		pod := d.Pods[member.Name]
		return pod == nil || pod.Annotations[workloadsv1.AnnotationSpec] == render.SpecHash(d.Instance, d.image)
	})
	if len(outdated) == 0 || d.StatefulSet == nil {
		return
	}
	d.does(workloadsv1alpha1.ReasonUpgrading, fmt.Sprintf("The Pods of the members are being replaced: %d of %d are to go.", len(outdated), len(voters)))
	isSteady := d.hasQuorum() && len(d.Cluster.Alarms) == 0 && d.healthyBut(voters, "") == len(d.entries) && len(voters) == len(d.entries) &&
		len(d.Cluster.Members) == len(voters) && d.StatefulSet.Status.ObservedGeneration == d.StatefulSet.Generation
	if !isSteady {
		return
	}
	slices.Reverse(outdated)
	next := slices.IndexFunc(outdated, func(member Member) bool { return member.ID != d.leader() })
	if next < 0 && len(voters) > 1 {
		d.plan.Change = d.moveLeader(voters, func(member *Member) bool { return member.ID != outdated[0].ID })
		return
	}
	pod := d.Pods[outdated[max(next, 0)].Name]
	if pod.DeletionTimestamp != nil {
		return
	}
	if d.diesWith(pod) && d.healthyBut(voters, outdated[max(next, 0)].ID) < etcd.Quorum(len(voters)) {
		d.doing, d.doingReason = fmt.Sprintf("The data of member %s is gone once its Pod is, and the other members are no quorum, so that what the spec changes waits: "+
			"set spec.replicas to 3 first, or create another ETCDInstance with storage and restore.fromInstance.", pod.Name), workloadsv1alpha1.ReasonUpgradeRefused
		return
	}
	d.plan.RemovePod = &Removal{Pod: pod}
}

// diesWith reports whether the data of a Pod goes with it.
func (d *decision) diesWith(pod *corev1.Pod) bool {
	claim := d.Claims[pod.Name]
	return d.Instance.Spec.Storage == nil || claim == nil || claim.DeletionTimestamp != nil
}
